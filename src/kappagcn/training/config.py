"""How a network is trained: numbers that a record keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

from kappagcn.errors import TrainingError

__all__ = ["TrainingConfig"]

DECAYS = ("none", "cosine")


@dataclass(frozen=True)
class TrainingConfig:
    """The paper's protocol by default (appendix).

    Args:
        epochs: At most so many.
        patience: Stop when the stopping loss has not fallen for so many epochs.
        lr: Of the weights, by Adam.
        curvature_lr: Of the curvatures, by plain gradient descent.
        l2: Weight of half the squares of the first layer's weights in the loss.
        decay: ``"cosine"`` lets both rates fall to 0 along a half wave by the last epoch; ``"none"`` keeps them.
        seed: Of everything random in training; the network's starting weights are its builder's (see `seeded`).

    >>> TrainingConfig(epochs=500, lr=0.02)
    TrainingConfig(epochs=500, patience=200, lr=0.02, curvature_lr=0.01, l2=0.0005, decay='none', seed=0)
    """

    epochs: int = 2000
    patience: int = 200
    lr: float = 0.01
    curvature_lr: float = 0.01
    l2: float = 5e-4
    decay: str = "none"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "seed"):
            if isinstance(getattr(self, name), bool) or not isinstance(getattr(self, name), Integral):
                raise TrainingError(f"{name}: expected a whole number, found {getattr(self, name)!r}.")
            object.__setattr__(self, name, int(getattr(self, name)))
        for name in ("epochs", "patience"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name}: expected at least 1, found {getattr(self, name)}.")
        for name in ("lr", "curvature_lr", "l2"):
            if isinstance(getattr(self, name), bool) or not isinstance(getattr(self, name), Real):
                raise TrainingError(f"{name}: expected a number from 0, found {getattr(self, name)!r}.")
            object.__setattr__(self, name, float(getattr(self, name)))
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise TrainingError(f"{name}: expected a number from 0, found {getattr(self, name)}.")
        if self.decay not in DECAYS:
            raise TrainingError(f"decay: expected {' or '.join(DECAYS)}, found {self.decay!r}.")
        if not 0 <= self.seed < 2**63:
            raise TrainingError(f"seed: expected a number from 0 to 2⁶³ − 1, found {self.seed}.")

    def rate(self, epoch: int) -> float:
        """The part of both learning rates that an epoch, counted from 1, takes.

        >>> [TrainingConfig(epochs=4, decay="cosine").rate(epoch) for epoch in (1, 3)]
        [1.0, 0.5]
        """
        return 1.0 if self.decay == "none" else (1 + math.cos(math.pi * (epoch - 1) / self.epochs)) / 2
