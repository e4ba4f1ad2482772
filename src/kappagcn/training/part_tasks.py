"""Node classification on the parts of a graph in files: one part in each process, or several that take turns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from kappagcn.classification.parts import PartClassification
from kappagcn.distributed import Communicator
from kappagcn.distributed.csr import CSR, CSRPartMatrix, normalized_rows, transposed
from kappagcn.distributed.halo_exchange import Exchange
from kappagcn.distributed.halo_file_exchange import FileExchange, TurnPause, TurnState
from kappagcn.distributed.part_folder import Part
from kappagcn.errors import GraphFileError, TrainingError
from kappagcn.models import NodeClassifier
from kappagcn.sparse import SparseMatrix
from kappagcn.training.parts import part_seed
from kappagcn.training.trainer import Trainer, seeded

__all__ = ["PartFilesTask", "PartFilesTrainer", "PartTask"]

T = TypeVar("T")
Prepare = Callable[[Tensor], Tensor]


class PartTask(PartClassification):
    """Node classification on the own nodes of one part; shares of losses and accuracies add up over the parts."""

    def __init__(self, model: NodeClassifier, part: Part, adjacency: Any, prepare: Prepare) -> None:
        dtype = next(model.parameters()).dtype
        x = prepare(part.features()).to(dtype)
        self.model, self.part, self.adjacency, self.boundary = model, part, adjacency, 1.0
        self.x = x if x.layout == torch.strided else SparseMatrix.from_tensor(x)
        self.communicator = Communicator()  # shares are added up by the caller
        self.labels = torch.from_numpy(part.array("labels")).long()
        self.own = torch.arange(part.own)
        roles = _watched_roles(part)
        self.nodes = {name: part.rows_in_role(role) for name, role in roles.items()}
        self.counts = {name: int(part.about["roles"][role]) for name, role in roles.items()}

    def _is_kept(self) -> bool:
        """No: parts that take turns are made anew for each pass."""
        return False

    def active_units(self) -> Tensor:
        """Which units of the last hidden layer are active on an own node, (D,)."""
        return (self.model.tangent(self.x, self.adjacency) != 0).any(0)


def _watched_roles(part: Part) -> dict[str, str]:
    stopping = "stopping" if part.about["roles"]["stopping"] else "train"
    return {"train": "train", "stopping": stopping, "validation": "validation"}


class PartFilesTask:
    """Node classification on all parts of a graph in a folder of `kappagcn data partition`.

    With as many processes as parts, each holds its part and exchanges rows in memory. With fewer, the parts take turns
    (`kappagcn.distributed.halo_file_exchange`), in the same numbers to round-off.

    Args:
        model: The network.
        folder: Folder of the partition; a process opens its own parts only.
        communicator: Connects the processes.
        scratch: Folder for prepared matrices and exchanged rows, where parts take turns; shared by all processes.
        prepare: Applied to the features of a part, such as a normalisation.
    """

    def __init__(
        self,
        model: NodeClassifier,
        folder: Path,
        communicator: Communicator,
        scratch: Path | None = None,
        prepare: Prepare = lambda x: x,
    ) -> None:
        self.model, self.folder, self.communicator, self.prepare = model, folder, communicator, prepare
        first = Part(folder, communicator.rank)
        self.about, self.state = first.about, TurnState()
        ranks, parts = communicator.world_size, first.parts
        if ranks > parts:
            raise TrainingError(f"{folder}: expected at most {parts} processes, one for each part, found {ranks}.")
        if ranks < parts and scratch is None:
            raise TrainingError(f"{folder}: expected {parts} processes, or a scratch folder for turns, found {ranks}.")
        self.scratch = None if ranks == parts else scratch
        self.numbers = list(range(communicator.rank, parts, ranks))
        self._check_same_partition()
        self._single = self._task(first) if self.scratch is None else None

    def _check_same_partition(self) -> None:
        ids = [int(Part(self.folder, number).about["id"][:12], 16) for number in self.numbers]
        reference = self.communicator.run_on_rank0(lambda: ids[0])
        if self.communicator.any_rank(any(each != reference for each in ids)):
            raise GraphFileError(f"{self.folder}: expected parts of one partition, found parts of several.")

    def _task(self, part: Part) -> PartTask:
        if not self.model.aggregates and getattr(self.model, "propagation", None) is None:  # an MLP has no matrix
            return PartTask(self.model, part, None, self.prepare)
        exchange = (
            Exchange.of_part(part, self.communicator)
            if self.scratch is None
            else FileExchange.in_turn(part, self.scratch, self.state)
        )
        shape = (part.own, part.own + part.halo)
        if self.scratch is None:
            return PartTask(self.model, part, CSRPartMatrix(self._normalized(part), shape, exchange), self.prepare)
        return PartTask(self.model, part, self._kept_matrix(part, shape, exchange), self.prepare)

    def _kept_matrix(self, part: Part, shape: tuple[int, int], exchange: Exchange) -> CSRPartMatrix:
        """The matrix of a part that takes turns, mapped from files that its first turn writes."""
        assert self.scratch is not None
        kept = self.scratch / f"part-{part.number}"
        if not (kept / "complete").is_file():
            kept.mkdir(parents=True, exist_ok=True)
            matrix = self._normalized(part)
            for name, arrays in (("matrix", matrix), ("transpose", transposed(matrix, shape[1]))):
                for field, array in arrays._asdict().items():
                    np.save(kept / f"{name}-{field}.npy", array)
            with torch.no_grad():
                np.save(kept / "sums.npy", CSRPartMatrix(matrix, shape, exchange).row_sums().numpy())
            (kept / "complete").touch()
        rows, turned = (
            CSR(*(np.load(kept / f"{name}-{field}.npy", mmap_mode="c") for field in CSR._fields))
            for name in ("matrix", "transpose")
        )
        return CSRPartMatrix(rows, shape, exchange, turned, np.load(kept / "sums.npy"))

    def _normalized(self, part: Part) -> CSR:
        normalization, loop_weight = self.model.normalization()
        return normalized_rows(
            part.array("indptr"),
            part.array("indices"),
            part.array("weights") if part.has("weights") else None,
            part.array("degrees"),
            normalization=normalization,
            loop_weight=loop_weight,
            dtype=torch.empty(0, dtype=next(self.model.parameters()).dtype).numpy().dtype,
        )

    def run(self, action: Callable[[PartTask], T]) -> list[T]:
        """The results of a function of each of this process's parts; all processes have to call it."""
        if self._single is not None:
            return [action(self._single)]
        self.state.restart()
        # Every turn starts with the buffers of this step, whose first forward pass sets scales of rows.
        buffers = {name: buffer.clone() for name, buffer in self.model.named_buffers()}
        while True:
            results, paused = [], None
            for number in self.numbers:
                self.model.load_state_dict(buffers, strict=False)
                try:
                    results.append(action(self._task(Part(self.folder, number))))
                except TurnPause as pause:
                    paused = pause.key
            if self.state.agree(paused, self.communicator):
                return results

    def loss(self) -> Tensor:
        """Refused: gradients are computed part by part."""
        raise TrainingError("expected a PartFilesTrainer, which computes gradients part by part, found another.")

    def metrics(self) -> dict[str, float]:
        """Loss and accuracy over the stopping and validation nodes of all parts."""
        shares = self.run(lambda task: task.metrics())
        sums = self.communicator.all_reduce_sum(*(sum(each[name] for each in shares) for name in shares[0]))
        return dict(zip(shares[0], sums, strict=True))

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """Loss and accuracy of the stopping nodes."""
        return metrics["stopping_loss"], metrics["stopping_accuracy"]

    def identity(self) -> dict[str, Any]:
        """The partition: a resumed run must have the same, with any number of processes."""
        return {"partition": self.about["id"]}

    def collapsed(self) -> bool:
        """Whether fewer units of the last hidden layer than there are classes are active on any node."""
        active = torch.stack(self.run(lambda task: task.active_units())).any(0)
        counts = self.communicator.all_reduce_sum(*active.long())
        return sum(count > 0 for count in counts) < min(int(self.model.options["num_classes"]), len(counts))


class PartFilesTrainer(Trainer):
    """A trainer on parts in files, whose random numbers depend on seed, epoch and part alone."""

    task: PartFilesTask

    def _gradients(self, epoch: int) -> float:
        parameters = list(self.named.values())

        def of_part(task: PartTask) -> tuple[float, list[Tensor | None]]:
            with seeded(part_seed(self.config.random_state, epoch - 1, task.part.number)):  # the same in every sweep
                loss = task.loss()
            return float(loss.detach()), list(torch.autograd.grad(loss, parameters, allow_unused=True))

        shares = self.task.run(of_part)
        (value,) = self.communicator.all_reduce_sum(sum(loss for loss, _ in shares))
        self._check_finite({"training loss": value}, epoch)
        for i, p in enumerate(parameters):
            grads = [grad for _, each in shares if (grad := each[i]) is not None]
            p.grad = torch.stack(grads).sum(0) if grads else None
        self.sum_gradients()
        return value
