"""Training epochs: Adam for weights, gradient descent for curvatures; resumable, and guarded against divergence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError, DivergedError
from kappagcn.geometry import Curvature
from kappagcn.geometry.curvature import RelativeCurvature
from kappagcn.kernels.threads import threads_for
from kappagcn.training.scale_free import CurvatureAdam
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.stopping import EarlyStopping
from kappagcn.training.tasks import Task

Record = dict[str, Any]
RESTARTS = 3  # most restarts of a network whose units have died


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Use this seed for torch's random numbers in the block, and restore their state afterwards.

    >>> with seeded(0):
    ...     one = torch.rand(1)
    >>> with seeded(0):
    ...     assert torch.equal(torch.rand(1), one)
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


class Trainer:
    """The state of training: weights, optimiser, random numbers, early stopping, the best weights so far.

    `tensors()` and `about()` are the whole state: a trainer that has loaded them continues to the same numbers, bit for
    bit. Processes that train together start from rank 0's weights, add up their losses and gradients, and so keep the
    same weights, bit for bit.

    A network that ends with too few active units (`NodeClassification.collapsed`) starts again from new weights, up to
    three times while epochs are left, each time with full patience; the best weights of all attempts are kept.

    After that come the rounds of `config.self_training`, if the task has them (`SelfTraining`): each starts from new
    weights, with full patience; again the best weights of all are kept.

    Args:
        model: The network, trained in place.
        task: Loss and metrics.
        config: Epochs, patience, learning rates, regularisation and seed.
        regularised: Parameters with L² regularisation.
        communicator: Connects the processes that train together; one process by default.
        radius: About half the diameter of the data, to move curvatures by Adam in units of it (`CurvatureAdam`); None
            for plain gradient descent.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.training import NodeClassification
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> trainer = Trainer(model, NodeClassification(model, data, random_split(data.y, 0)), TrainingSettings(epochs=2))
    >>> trainer.run_epoch()["epoch"], trainer.is_over()
    (1, False)
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        config: TrainingSettings,
        *,
        regularised: list[nn.Parameter] | None = None,
        communicator: Communicator | None = None,
        radius: float | None = None,
    ) -> None:
        self.model, self.task, self.config = model, task, config
        self.communicator = Communicator() if communicator is None else communicator
        for tensor in model.state_dict().values():
            self.communicator.broadcast(tensor)
        self.epoch, self.restarts, self.rounds = 0, 0, 0
        self.seconds = 0.0  # time of all epochs, also of those before an interruption
        self.best_record: Record = {}
        self.stopping = EarlyStopping(config.patience, by_score=config.stop_by == "either")
        self.named = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.curvatures = [module for module in model.modules() if isinstance(module, Curvature)]
        self._initial = [c.raw.detach().clone() for c in self.curvatures]
        kappas = {id(c.raw) for c in self.curvatures}
        relative = [c for c in self.curvatures if isinstance(c, RelativeCurvature)]
        in_units, self.scales = {id(c.raw) for c in relative}, [c.scale for c in relative]
        self.weights = {name: p for name, p in self.named.items() if id(p) not in kappas}
        self.scaled_curved = [p for p in self.named.values() if id(p) in in_units]
        self.curved = [p for p in self.named.values() if id(p) in kappas - in_units]
        self.adam: torch.optim.Optimizer | None = None
        self.curvature_adam: CurvatureAdam | None = None
        self._make_optimisers(regularised or [], radius)
        if config.self_training and not hasattr(task, "learn_predictions"):
            raise ConfigError("self_training: expected training on the whole graph in one process, found another.")
        if not self.named:
            raise ConfigError("expected parameters to train, found none that require a gradient.")
        self.best = {name: t.detach().clone() for name, t in model.state_dict().items()}
        self._backup: list[Tensor] = []
        with seeded(config.random_state):
            self.random = torch.get_rng_state()

    def _make_optimisers(self, regularised: list[nn.Parameter], radius: float | None) -> None:
        config, decayed = self.config, {id(p) for p in regularised}
        groups: list[dict[str, Any]] = [
            {"params": [p for p in self.weights.values() if id(p) in decayed], "weight_decay": config.l2},
            {"params": [p for p in self.weights.values() if id(p) not in decayed]},
            {"params": self.scaled_curved, "lr": config.curvature_lr},
        ]
        groups = [{"lr": config.lr, **group} for group in groups if group["params"]]
        for group in groups:
            group["initial_lr"] = group["lr"]
        self.adam = torch.optim.Adam(groups, fused=True) if groups else None
        if radius is not None and self.curved:
            self.curvature_adam = CurvatureAdam(self.curved, radius, config.curvature_lr)

    def kappas(self) -> list[float]:
        """Current curvatures."""
        return [c.value for c in self.curvatures]

    def run_epoch(self) -> Record:
        """One training step and the metrics after it.

        Raises:
            DivergedError: A value became NaN or infinite. The state is that before the epoch.
        """
        epoch = self.epoch + 1
        self.communicator.set_epoch(epoch)
        self._save_backup()
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self.random)
            self.model.train()
            loss = self._step(epoch)
            random = torch.get_rng_state()
        self.model.eval()
        with torch.no_grad():
            metrics = self._metrics()
        self._check_finite({name.replace("_", " "): value for name, value in metrics.items()}, epoch)
        self.epoch, self.random = epoch, random
        record = {"epoch": epoch, "train_loss": loss, **metrics, "curvatures": self.kappas()}
        if self.config.self_training:
            record["round"] = self.rounds
        watched = self.task.watched(metrics)
        if watched is not None and self.stopping.update(epoch, *watched):
            now = self.model.state_dict()
            torch._foreach_copy_(list(self.best.values()), [now[name].detach() for name in self.best])
            self.best_record = record
        if self.stopping.is_over() and not self._last_epoch():
            self._start_again()
        return record

    @torch.no_grad()
    def _start_again(self) -> None:
        """New weights after a collapse, or for a round of self-training, in which they learn what the best predict."""
        learner: Any = self.task
        if self.restarts < RESTARTS and hasattr(learner, "collapsed") and learner.collapsed():
            self.restarts += 1
        elif self.rounds < self.config.self_training:
            self.rounds += 1
            self.take_best()
            learner.learn_predictions()
        else:
            return
        self._renew_weights()

    @torch.no_grad()
    def _renew_weights(self) -> None:
        """New weights, and curvatures and optimiser as at the start; the best weights so far stay."""
        self.stopping.start_again(self.epoch)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self.random)
            for module in self.model.modules():
                reset = getattr(module, "reset_parameters", None)
                if reset is not None:
                    reset()
            self.random = torch.get_rng_state()
        torch.autograd.graph.increment_version(list(self.model.parameters()))  # weights are drawn into their `data`
        for curvature, start in zip(self.curvatures, self._initial, strict=True):
            curvature.raw.copy_(start)
        for tensor in self.model.state_dict().values():
            self.communicator.broadcast(tensor)
        if self.adam is not None:
            self.adam.state.clear()
        self._backup = []

    def _metrics(self) -> dict[str, float]:
        return self.task.metrics()

    def _step(self, epoch: int) -> float:
        for p in self.named.values():
            p.grad = None
        value = self._gradients(epoch)
        self._check_norms("the gradient of", {n: p.grad for n, p in self.named.items() if p.grad is not None}, epoch)
        rate = self.config.rate(epoch)
        if self.adam is not None:
            for group in self.adam.param_groups:
                group["lr"] = rate * group["initial_lr"]
            with threads_for(sum(p.numel() for p in self.named.values())):
                self.adam.step()
        if self.curvature_adam is not None:
            self.curvature_adam.step(rate)
        else:
            with torch.no_grad():
                for kappa in self.curved:
                    if kappa.grad is not None:
                        kappa.sub_(rate * self.config.curvature_lr * kappa.grad)
        self._check_norms("the weights", dict(self.named), epoch)
        return value

    def _gradients(self, epoch: int) -> float:
        """The loss over all ranks; afterwards all parameters have their gradients."""
        loss = self.task.loss()
        (value,) = self.communicator.all_reduce_sum(loss)
        self._check_finite({"training loss": value}, epoch)
        loss.backward()
        self.sum_gradients()
        return value

    def share_scales(self) -> None:
        """Give scales of rows their mean over all ranks."""
        for scale in self.scales:  # in the first step ranks have seen different rows, or none; then all are the same
            total, count = self.communicator.all_reduce_sum(scale.clamp(min=0), scale > 0)
            scale.fill_(total / count if count else -1)

    def sum_gradients(self) -> None:
        """Sum the gradients over all ranks, in one message; scales of rows get their mean over all ranks."""
        if self.communicator.world_size == 1:
            return
        self.share_scales()
        params = list(self.named.values())
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in params])
        self.communicator.all_reduce(flat)
        for p, part in zip(params, flat.split([p.numel() for p in params]), strict=True):
            p.grad = part.view_as(p)

    def _state(self) -> list[Tensor]:
        """All tensors that an epoch changes: weights, buffers, and the optimisers' averages once they have some."""
        averages = [t for adam in self._optimisers() for state in adam.state.values() for t in state.values()]
        coordinates = [] if self.curvature_adam is None else [self.curvature_adam.u]
        return [*self.named.values(), *self.model.buffers(), *coordinates, *averages]

    def _optimisers(self) -> list[torch.optim.Optimizer]:
        """The optimisers of the weights and of the curvatures."""
        adams = (self.adam, None if self.curvature_adam is None else self.curvature_adam.adam)
        return [adam for adam in adams if adam is not None]

    def _save_backup(self) -> None:
        """Copy the state, which a failed epoch restores."""
        now = [t.detach() for t in self._state()]
        if len(self._backup) == len(now):
            torch._foreach_copy_(self._backup, now)
        else:
            self._backup = [t.clone() for t in now]

    def _check_norms(self, what: str, tensors: dict[str, Tensor], epoch: int) -> None:
        norms = torch.stack(torch._foreach_norm([t.detach() for t in tensors.values()]))
        if not torch.isfinite(norms).all():
            names = (f"norm of {what} {name}" for name in tensors)
            self._check_finite(dict(zip(names, norms.tolist(), strict=True)), epoch)

    def _check_finite(self, values: dict[str, float], epoch: int) -> None:
        """Restore the backup and raise an error if a value is NaN or infinite."""
        for quantity, value in values.items():
            if not math.isfinite(value):
                self._restore_backup()
                raise DivergedError(quantity, value, epoch)

    @torch.no_grad()
    def _restore_backup(self) -> None:
        """Restore the state before the epoch."""
        if len(self._state()) > len(self._backup):  # before the first one the optimisers had no averages
            for adam in self._optimisers():
                adam.state.clear()
        torch._foreach_copy_(self._state(), self._backup)

    @property
    def converged(self) -> bool:
        """Whether training has converged; this trainer does not detect it."""
        return False

    def is_over(self) -> bool:
        """Whether the last epoch is done, or patience has run out."""
        return self._last_epoch() or self.stopping.is_over()

    def _last_epoch(self) -> bool:
        return self.epoch >= self.config.epochs

    def take_best(self) -> None:
        """Load the best weights into the network."""
        self.model.load_state_dict(self.best)

    def tensors(self) -> dict[str, Tensor]:
        """Tensors of the state: weights, best weights, optimiser, random numbers."""
        tensors = {f"model/{name}": t for name, t in self.model.state_dict().items()}
        tensors |= {f"best/{name}": t for name, t in self.best.items()}
        if self.adam is not None:
            for number, state in self.adam.state_dict()["state"].items():
                tensors |= {f"adam/{number}/{name}": torch.as_tensor(t) for name, t in state.items()}
        if self.curvature_adam is not None:
            tensors |= {f"curvature_adam/{name}": t for name, t in self.curvature_adam.tensors().items()}
        targets = getattr(self.task, "targets", None)  # of a round of self-training
        return tensors | {"random": self.random} | ({} if targets is None else {"targets": targets})

    def about(self) -> dict[str, Any]:
        """The rest of the state, as plain numbers."""
        counts = {"epoch": self.epoch, "restarts": self.restarts, "rounds": self.rounds, "seconds": self.seconds}
        return {**counts, "best_record": self.best_record, "stopping": asdict(self.stopping)}

    def load(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Load a saved state."""
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "adam": {}, "curvature_adam": {}}
        for key, tensor in tensors.items():
            part, _, name = key.partition("/")
            parts.setdefault(part, {})[name] = tensor
        self.model.load_state_dict(parts["model"])
        self.best = {name: t.to(self.best[name].device) for name, t in parts["best"].items()}
        self.random, self.epoch = tensors["random"], int(about["epoch"])
        self.restarts, self.rounds = int(about.get("restarts", 0)), int(about.get("rounds", 0))
        self.seconds, self.best_record = float(about.get("seconds", 0.0)), dict(about.get("best_record", {}))
        if "targets" in tensors:
            learner: Any = self.task
            learner.targets = tensors["targets"].to(learner.labels.device)
        self.stopping = EarlyStopping(**{**about["stopping"], "patience": self.config.patience})
        if self.curvature_adam is not None:
            self.curvature_adam.load(parts["curvature_adam"])
        if self.adam is not None and parts["adam"]:
            states: dict[int, dict[str, Tensor]] = {}
            for key, tensor in parts["adam"].items():
                number, _, name = key.partition("/")
                # Averages of κ had no axis in version 0.2.
                states.setdefault(int(number), {})[name] = tensor if name == "step" else torch.atleast_1d(tensor)
            self.adam.load_state_dict({**self.adam.state_dict(), "state": states})
        self._backup = []
