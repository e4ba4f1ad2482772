"""One network, one task: epochs of Adam for weights and gradient descent for curvatures, watched and resumable."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.distributed import Communicator
from kappagcn.errors import DivergedError, TrainingError
from kappagcn.geometry import Curvature
from kappagcn.training.config import TrainingConfig
from kappagcn.training.stopping import EarlyStopping
from kappagcn.training.tasks import Task

__all__ = ["Trainer", "seeded"]

Record = dict[str, Any]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within it torch draws from this seed; afterwards from where it was before.

    >>> with seeded(0):
    ...     one = torch.rand(1)
    >>> with seeded(0):
    ...     assert torch.equal(torch.rand(1), one)
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


class Trainer:
    """The state of training: weights, optimisers, random numbers, stopping, the best weights so far.

    Everything that decides what comes next is in `tensors()` and `about()`; a trainer that has loaded them goes on to
    the same numbers, bit for bit.

    Processes that train together start from rank 0's weights, add up their losses and gradients, and so keep the same
    weights, bit for bit.

    Args:
        model: The network, trained in place.
        task: What for.
        config: How.
        regularised: Parameters that `config.l2` holds small.
        communicator: Connects the processes that train together; one process by default.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.training import NodeClassification
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> trainer = Trainer(model, NodeClassification(model, data, random_split(data.y, 0)), TrainingConfig(epochs=2))
    >>> trainer.run_epoch()["epoch"], trainer.is_over()
    (1, False)
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        config: TrainingConfig,
        *,
        regularised: list[nn.Parameter] | None = None,
        communicator: Communicator | None = None,
    ) -> None:
        self.model, self.task, self.config = model, task, config
        self.communicator = Communicator() if communicator is None else communicator
        for tensor in model.state_dict().values():
            self.communicator.broadcast(tensor)
        self.epoch = 0
        self.stopping = EarlyStopping(config.patience)
        self.named = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.curvatures = [module for module in model.modules() if isinstance(module, Curvature)]
        kappas = {id(c.raw) for c in self.curvatures}
        held = {id(p) for p in regularised or []}
        weights = [p for p in self.named.values() if id(p) not in kappas]
        groups: list[dict[str, Any]] = [
            {"params": [p for p in weights if id(p) in held], "weight_decay": config.l2},
            {"params": [p for p in weights if id(p) not in held]},
        ]
        self.adam = torch.optim.Adam([g for g in groups if g["params"]], lr=config.lr, fused=True) if weights else None
        self.curved = [p for p in self.named.values() if id(p) in kappas]
        if not self.named:
            raise TrainingError("expected parameters to train, found none that require a gradient.")
        self.best = self._weights()
        self._good: list[Tensor] = []
        with seeded(config.seed):
            self.random = torch.get_rng_state()

    def kappas(self) -> list[float]:
        """All curvatures as of now."""
        return [c.value for c in self.curvatures]

    def run_epoch(self) -> Record:
        """One step, then the numbers of the network after it.

        Raises:
            DivergedError: something became NaN or infinite. The weights are those before the step.
        """
        epoch = self.epoch + 1
        self.communicator.set_epoch(epoch)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self.random)
            self.model.train()
            loss = self._step(epoch)
            drawn = torch.get_rng_state()
        self.model.eval()
        with torch.no_grad():
            metrics = self.task.metrics()
        for name, value in metrics.items():
            if not math.isfinite(value):
                self._diverged(name.replace("_", " "), value, epoch)
        self.epoch, self.random = epoch, drawn
        if self.stopping.update(epoch, *self.task.watched(metrics)):
            self._copy_best()
        return {"epoch": epoch, "train_loss": loss, **metrics, "curvatures": self.kappas()}

    def _step(self, epoch: int) -> float:
        self._remember()
        for p in self.named.values():
            p.grad = None
        loss = self.task.loss()
        (value,) = self.communicator.all_reduce_sum(loss)
        if not math.isfinite(value):
            self._diverged("training loss", value, epoch)
        loss.backward()
        self.sum_gradients()
        self._check_all(
            "the gradient of", {name: p.grad for name, p in self.named.items() if p.grad is not None}, epoch
        )
        rate = self.config.rate(epoch)
        if self.adam is not None:
            for group in self.adam.param_groups:
                group["lr"] = rate * self.config.lr
            self.adam.step()
        with torch.no_grad():
            for kappa in self.curved:
                if kappa.grad is not None:
                    kappa.sub_(rate * self.config.curvature_lr * kappa.grad)
        self._check_all("the weights", dict(self.named), epoch)
        return value

    def sum_gradients(self) -> None:
        """Add up the gradients of all ranks, in one message."""
        if self.communicator.world_size == 1:
            return
        params = list(self.named.values())
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in params])
        self.communicator.all_reduce(flat)
        for p, part in zip(params, flat.split([p.numel() for p in params]), strict=True):
            p.grad = part.view_as(p)

    def _changing(self) -> list[Tensor]:
        """All that a step changes: weights, and Adam's averages once there are some."""
        states = [] if self.adam is None else self.adam.state.values()
        return [*self.named.values(), *(t for state in states for t in state.values())]

    def _remember(self) -> None:
        """Copy it, to go back to if the step fails."""
        now = [t.detach() for t in self._changing()]
        if len(self._good) == len(now):
            torch._foreach_copy_(self._good, now)
        else:
            self._good = [t.clone() for t in now]

    def _check_all(self, what: str, tensors: dict[str, Tensor], epoch: int) -> None:
        sizes = torch.stack(torch._foreach_norm([t.detach() for t in tensors.values()]))
        if not torch.isfinite(sizes).all():
            name = next(name for name, size in zip(tensors, sizes, strict=True) if not math.isfinite(size))
            self._diverged(f"norm of {what} {name}", float(sizes[list(tensors).index(name)]), epoch)

    def _diverged(self, quantity: str, value: float, epoch: int) -> None:
        with torch.no_grad():
            now = self._changing()
            if len(now) > len(self._good) and self.adam is not None:  # the first step: there was no Adam before it
                self.adam.state.clear()
                now = self._changing()
            torch._foreach_copy_(now, self._good)
        raise DivergedError(quantity, value, epoch)

    def is_over(self) -> bool:
        """Whether the last epoch has been run, or patience is at its end."""
        return self.epoch >= self.config.epochs or self.stopping.is_over(self.epoch)

    def _weights(self) -> dict[str, Tensor]:
        return {name: t.detach().clone() for name, t in self.model.state_dict().items()}

    def _copy_best(self) -> None:
        now = self.model.state_dict()
        torch._foreach_copy_(list(self.best.values()), [now[name].detach() for name in self.best])

    def take_best(self) -> None:
        """Give the network its best weights."""
        self.model.load_state_dict(self.best)

    def tensors(self) -> dict[str, Tensor]:
        """Weights, best weights, optimiser, random numbers."""
        tensors = {f"model/{name}": t for name, t in self.model.state_dict().items()}
        tensors |= {f"best/{name}": t for name, t in self.best.items()}
        if self.adam is not None:
            for number, state in self.adam.state_dict()["state"].items():
                tensors |= {f"adam/{number}/{name}": torch.as_tensor(t) for name, t in state.items()}
        return tensors | {"random": self.random}

    def about(self) -> dict[str, Any]:
        """What is not a tensor."""
        return {"epoch": self.epoch, "stopping": self.stopping.state()}

    def load(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Go on from a saved state."""
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "adam": {}}
        for key, tensor in tensors.items():
            part, _, name = key.partition("/")
            if part in parts:
                parts[part][name] = tensor
        self.model.load_state_dict(parts["model"])
        self.best = parts["best"]
        self.random = tensors["random"]
        self.epoch = int(about["epoch"])
        self.stopping = EarlyStopping(**about["stopping"])
        if self.adam is not None and parts["adam"]:
            states: dict[int, dict[str, Tensor]] = {}
            for key, tensor in parts["adam"].items():
                number, _, name = key.partition("/")
                states.setdefault(int(number), {})[name] = tensor
            self.adam.load_state_dict({**self.adam.state_dict(), "state": states})
