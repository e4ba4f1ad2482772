"""Curvatures in a coordinate in which a step has the same relative size at every scale."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

LARGEST = 20.0  # of |u|: R is then 15,000 radii of curvature, and moving κ further changes no distance visibly


class ScaleFreeCurvatures:
    """Curvatures as u = asinh(κR²), which is linear in κ near 0 and logarithmic far from it, and may change sign.

    Args:
        kappas: Curvatures, written in place.
        radius: R, about half the diameter of the data: κR² of 1 is where curvature begins to matter.

    >>> kappa = torch.tensor(-1.0, dtype=torch.float64)
    >>> scaled = ScaleFreeCurvatures([kappa], radius=10.0)
    >>> scaled.write(scaled.read() - torch.tensor(2.0).log())  # twice as curved
    >>> round(kappa.item(), 3)
    -2.0
    """

    def __init__(self, kappas: Sequence[Tensor], radius: float) -> None:
        self.kappas, self.square = list(kappas), radius**2

    @torch.no_grad()
    def read(self) -> Tensor:
        """The coordinates u, (F,), float64."""
        return torch.asinh(self._joined(self.kappas) * self.square)

    @torch.no_grad()
    def write(self, u: Tensor) -> None:
        """Set the curvatures to these coordinates, (F,)."""
        for kappa, value in zip(self.kappas, u.clamp(-LARGEST, LARGEST).sinh() / self.square, strict=True):
            kappa.copy_(value)

    @torch.no_grad()
    def gradient(self) -> Tensor:
        """The gradient with respect to u, from that with respect to κ: ∂κ/∂u = √(1 + (κR²)²)/R², (F,)."""
        by_kappa = [torch.zeros_like(k) if k.grad is None else k.grad for k in self.kappas]
        slope = (self._joined(self.kappas) * self.square).square().add(1).sqrt() / self.square
        return self._joined(by_kappa) * slope

    @staticmethod
    def _joined(values: list[Tensor]) -> Tensor:
        parts = [value.detach().double().view(1) for value in values]
        return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


class CurvatureAdam:
    """Adam on u = asinh(κR²): a step changes κ by at most about `lr` times |κ|, or times 1/R² where that is larger.

    Args:
        kappas: Curvatures, written in place.
        radius: R, about half the diameter of the data.
        lr: Learning rate.
    """

    BETAS = (0.9, 0.99)

    def __init__(self, kappas: Sequence[Tensor], radius: float, lr: float) -> None:
        self.scaled, self.lr = ScaleFreeCurvatures(kappas, radius), lr
        self.u = self.scaled.read().cpu().requires_grad_()
        self.adam = torch.optim.Adam([self.u], lr=lr, betas=self.BETAS)

    def step(self, rate: float) -> None:
        """Move the curvatures by their gradients, with this share of the learning rate."""
        self.u.grad = self.scaled.gradient().to(self.u.device)
        self.adam.param_groups[0]["lr"] = rate * self.lr
        self.adam.step()
        with torch.no_grad():
            self.u.clamp_(-LARGEST, LARGEST)
        self.scaled.write(self.u.detach())

    def tensors(self) -> dict[str, Tensor]:
        """The state; `load` continues from it to the same numbers."""
        state = self.adam.state.get(self.u, {})
        return {"u": self.u.detach(), **{name: torch.as_tensor(t) for name, t in state.items()}}

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Load a state that `tensors` returned."""
        with torch.no_grad():
            self.u.copy_(tensors["u"])
        self.scaled.write(self.u.detach())
        moments = {name: t for name, t in tensors.items() if name != "u"}
        if moments:
            self.adam.load_state_dict({**self.adam.state_dict(), "state": {0: moments}})
