"""`fit_parts` and `evaluate_parts`: training and evaluation on the parts of a graph in files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor
from torch.distributed import ProcessGroup
from torch.nn.functional import cross_entropy

from kappagcn.classification.evaluation import confusion_metrics
from kappagcn.distributed import Communicator
from kappagcn.errors import TrainingError
from kappagcn.models import NodeClassifier
from kappagcn.training.part_tasks import PartFilesTask, PartFilesTrainer, PartTask, Prepare
from kappagcn.training.run import RunOptions, TrainingResult, run_training
from kappagcn.training.run_lock import locked
from kappagcn.training.settings import TrainingSettings

__all__ = ["evaluate_parts", "fit_parts", "part_files"]


@contextmanager
def part_files(
    model: NodeClassifier,
    folder: str | Path,
    *,
    group: ProcessGroup | Communicator | None = None,
    scratch: str | Path | None = None,
    prepare: Prepare = lambda x: x,
) -> Iterator[PartFilesTask]:
    """Open the parts of a graph for a network; scratch files are removed at the end.

    Args:
        model: The network.
        folder: Folder that `kappagcn data partition` wrote.
        group: Process group of torch.distributed; None for one process. With as many processes as parts each holds one
            part; fewer take the parts in turn.
        scratch: Folder for a temporary folder of the rows that parts exchange where they take turns; all processes
            must have access to it. By default the system's.
        prepare: Applied to the features of each part.

    >>> from kappagcn import graphs, models, training
    >>> data, model = graphs.disease(100), models.KappaGCN(10, 2, "H4")
    >>> stream, columns = training.part_stream(data), training.NodeColumns.of_data(data)
    >>> with tempfile.TemporaryDirectory() as out:
    ...     with part_files(model, training.write_parts(stream, columns, f"{out}/parts", 2)) as task:
    ...         task.about["parts"]
    2
    """
    communicator = Communicator.of(group)
    temporary = communicator.run_on_rank0(lambda: tempfile.mkdtemp(prefix="kappagcn-parts-", dir=scratch))
    try:
        yield PartFilesTask(model, Path(folder), communicator, Path(temporary), prepare)
    finally:
        if communicator.rank == 0:
            shutil.rmtree(temporary, ignore_errors=True)


def fit_parts(
    model: NodeClassifier,
    task: PartFilesTask,
    config: TrainingSettings | None = None,
    **run: Unpack[RunOptions],
) -> TrainingResult:
    """Train a node classifier on the parts of a graph; exact full-graph training, as `fit` does in one process.

    All processes of the task's group call it with the same arguments; rank 0's weights count, and rank 0 alone writes.

    Args:
        model: The network, with its initial weights.
        task: The parts, from `part_files`.
        config: Epochs, patience, learning rates, regularisation and seed.
        **run: Run folder, resuming, checkpoints and callbacks, see `run_training`.

    >>> from kappagcn import graphs, models, training
    >>> data, model = graphs.disease(100), models.KappaGCN(10, 2, "H4")
    >>> stream, columns = training.part_stream(data), training.NodeColumns.of_data(data)
    >>> with tempfile.TemporaryDirectory() as out:
    ...     with part_files(model, training.write_parts(stream, columns, f"{out}/parts", 2)) as task:
    ...         fit_parts(model, task, TrainingSettings(epochs=2)).epochs
    2
    """
    config = TrainingSettings() if config is None else config
    about = task.about
    if not about["roles"]["train"]:
        raise TrainingError(f"{task.folder}: expected labels to train on, found none. Partition with --labels.")
    classes, features = model.options["num_classes"], model.options["in_channels"]
    if (classes, features) != (about["classes"], about["columns"]):
        raise TrainingError(
            f"{task.folder}: expected a network for {about['columns']} features and {about['classes']} classes, found "
            f"one for {features} and {classes}."
        )
    options: dict[str, Any] = {"regularised": model.first_layer(), "communicator": task.communicator}
    trainer = PartFilesTrainer(model, task, config, **options)
    described = {"model": model.name, "options": model.options, "dtype": str(next(model.parameters()).dtype)}
    described |= {"training": asdict(config), **task.identity()}
    with locked(run.get("folder"), task.communicator):
        return run_training(trainer, described, **run)


@torch.no_grad()
def evaluate_parts(
    task: PartFilesTask, *, save: Callable[[PartTask, Tensor], None] | None = None
) -> dict[str, float | None]:
    """Accuracy, balanced accuracy, macro F1 and loss on the test nodes of all parts, computed exactly, part by part.

    Do not choose models or settings by its results. There is no AUC, which would need all scores together.

    Args:
        task: The parts.
        save: Called with each part and the logits of its own nodes, (M, C), on the process that has it.

    >>> from kappagcn import graphs, models, training
    >>> data, model = graphs.disease(100), models.KappaGCN(10, 2, "H4")
    >>> stream, columns = training.part_stream(data), training.NodeColumns.of_data(data)
    >>> with tempfile.TemporaryDirectory() as out:
    ...     with part_files(model, training.write_parts(stream, columns, f"{out}/parts", 2)) as task:
    ...         sorted(evaluate_parts(task))
    ['accuracy', 'balanced_accuracy', 'loss', 'macro_f1']
    """
    model, classes = task.model.eval(), int(task.about["classes"])
    if not task.about["roles"]["test"]:
        raise TrainingError(f"{task.folder}: expected test nodes for the final evaluation, found none.")

    def of_part(part: PartTask) -> tuple[Tensor, float]:
        scores = model(part.x, part.adjacency)
        nodes = part.part.rows_in_role("test")
        truth, own = part.labels[nodes], scores[nodes]
        confusion = torch.bincount(classes * truth + own.argmax(1), minlength=classes**2)
        if save is not None:
            save(part, scores)
        return confusion.double(), float(cross_entropy(own.double(), truth, reduction="sum")) if len(nodes) else 0.0

    shares = task.run(of_part)
    total = torch.stack([confusion for confusion, _ in shares]).sum(0)
    task.communicator.all_reduce(total)
    (loss,) = task.communicator.all_reduce_sum(sum(each for _, each in shares))
    metrics = confusion_metrics(total.reshape(classes, classes))
    return {**metrics, "loss": loss / int(task.about["roles"]["test"])}


def save_predictions(folder: Path, part: PartTask, scores: Tensor) -> None:
    """Write the numbers of a part's nodes, their classes and the probabilities of these to an npz file."""
    probabilities, predicted = scores.softmax(1).max(1)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"part-{part.part.number}.npz"
    np.savez(
        path,
        nodes=part.part.array("nodes"),
        predicted=predicted.numpy().astype(np.int32),
        probability=probabilities.float().numpy(),
    )
