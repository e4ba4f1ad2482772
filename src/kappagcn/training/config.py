"""Training configuration: epochs, patience, learning rates, regularisation, seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from kappagcn.errors import TrainingError

__all__ = ["TrainingConfig", "check_count"]

DECAYS = ("none", "cosine")
STOP_BY = ("loss", "either")


def check_count(name: str, value: Any, low: int = 1) -> int:
    """A whole number that is not below `low`, as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise TrainingError(f"{name}: expected a whole number from {low}, found {value!r}.")
    return int(value)


@dataclass(frozen=True)
class TrainingConfig:
    """Training configuration; the defaults are the paper's protocol (appendix).

    Args:
        epochs: Maximum number of epochs.
        patience: Number of epochs without improvement on the stopping nodes after which training stops.
        stop_by: Improvement that counts: a lower ``"loss"`` (the paper), or ``"either"`` a lower loss or a higher score
            (PPNP).
        lr: Adam learning rate of the weights.
        curvature_lr: Learning rate of the curvatures: of gradient descent, or of Adam if they are in units of rows.
        l2: L2 regularisation: factor of half the sum of the squared weights of the first layer, in the loss.
        decay: ``"cosine"`` lowers both rates to 0 along half a cosine wave over all epochs; ``"none"`` keeps them.
        self_training: Rounds of self-training after the first training, see `SelfTraining`; each has full patience, and
            all share the epochs.
        seed: Seed of all random numbers in training, except the initial weights (see `seeded`).

    >>> TrainingConfig(epochs=500, lr=0.02).patience
    200
    """

    epochs: int = 2000
    patience: int = 200
    stop_by: str = "loss"
    lr: float = 0.01
    curvature_lr: float = 0.01
    l2: float = 5e-4
    decay: str = "none"
    self_training: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low in (("epochs", 1), ("patience", 1), ("self_training", 0), ("seed", 0)):
            object.__setattr__(self, name, check_count(name, getattr(self, name), low))
        for name in ("lr", "curvature_lr", "l2"):
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not (isinstance(value, Real) and 0 <= float(value) < math.inf):
                raise TrainingError(f"{name}: expected a number from 0, found {value!r}.")
            object.__setattr__(self, name, float(value))
        if self.stop_by not in STOP_BY:
            raise TrainingError(f"stop_by: expected {' or '.join(STOP_BY)}, found {self.stop_by!r}.")
        if self.decay not in DECAYS:
            raise TrainingError(f"decay: expected {' or '.join(DECAYS)}, found {self.decay!r}.")
        if self.seed >= 2**63:
            raise TrainingError(f"seed: expected a number from 0 to 2⁶³ − 1, found {self.seed}.")

    def rate(self, epoch: int) -> float:
        """Factor of both learning rates in an epoch, counted from 1.

        >>> [TrainingConfig(epochs=4, decay="cosine").rate(epoch) for epoch in (1, 3)]
        [1.0, 0.5]
        """
        return 1.0 if self.decay == "none" else (1 + math.cos(math.pi * (epoch - 1) / self.epochs)) / 2
