"""Curvatures in a coordinate in which a step has the same relative size at every scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["CurvatureAdam", "ScaleFreeCurvature"]


class ScaleFreeCurvature:
    """A curvature as u = asinh(κR²), which is linear in κ near 0 and logarithmic far from it, and may change sign.

    Args:
        kappa: A curvature, written in place.
        radius: R, about half the diameter of the data: κR² of 1 is where curvature begins to matter.

    >>> scaled = ScaleFreeCurvature(torch.tensor(-1.0), radius=10.0)
    >>> scaled.u = scaled.u - math.log(2)  # twice as curved
    >>> round(float(scaled.kappa), 3)
    -2.0
    """

    def __init__(self, kappa: Tensor, radius: float) -> None:
        self.kappa, self.square = kappa, radius**2

    @property
    def u(self) -> float:
        """The coordinate."""
        return math.asinh(float(self.kappa.detach()) * self.square)

    @u.setter
    def u(self, value: float) -> None:
        with torch.no_grad():
            self.kappa.fill_(math.sinh(max(-300.0, min(300.0, value))) / self.square)

    @property
    def slope(self) -> float:
        """∂κ/∂u."""
        return math.hypot(1.0, float(self.kappa.detach()) * self.square) / self.square


class CurvatureAdam:
    """Adam on u = asinh(κR²): a step changes κ by at most about `lr` times |κ|, or times 1/R² where that is larger.

    Args:
        kappas: Curvatures, written in place.
        radius: R, about half the diameter of the data.
        lr: Learning rate.
    """

    BETAS = (0.9, 0.99)

    def __init__(self, kappas: Sequence[Tensor], radius: float, lr: float) -> None:
        self.scaled, self.lr = [ScaleFreeCurvature(k, radius) for k in kappas], lr
        self.u = torch.tensor([s.u for s in self.scaled], dtype=torch.float64, requires_grad=True)
        self.adam = torch.optim.Adam([self.u], lr=lr, betas=self.BETAS)

    def step(self, rate: float) -> None:
        """Move the curvatures by their gradients, with this share of the learning rate."""
        by_u = [0.0 if s.kappa.grad is None else float(s.kappa.grad) * s.slope for s in self.scaled]
        self.u.grad = torch.tensor(by_u, dtype=torch.float64)
        self.adam.param_groups[0]["lr"] = rate * self.lr
        self.adam.step()
        self._write()

    def _write(self) -> None:
        for scaled, value in zip(self.scaled, self.u.tolist(), strict=True):
            scaled.u = value

    def tensors(self) -> dict[str, Tensor]:
        """The state; `load` continues from it to the same numbers."""
        state = self.adam.state.get(self.u, {})
        return {"u": self.u.detach(), **{name: torch.as_tensor(t) for name, t in state.items()}}

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Load a state that `tensors` returned."""
        with torch.no_grad():
            self.u.copy_(tensors["u"])
        self._write()
        moments = {name: t for name, t in tensors.items() if name != "u"}
        if moments:
            self.adam.load_state_dict({**self.adam.state_dict(), "state": {0: moments}})
