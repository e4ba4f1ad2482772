"""A curvature: one signed number, fixed or trained, free to cross zero unless bounded."""

from __future__ import annotations

import math
from numbers import Real

import torch
from torch import Tensor, nn

from kappagcn.errors import GeometryError


class Curvature(nn.Module):
    """κ, the signed sectional curvature of one space.

    Without bounds the trained parameter is κ itself, so that a step of the optimiser is a step of κ, through zero if
    need be. With bounds the parameter is ``raw``, and κ a smooth increasing function of it that does not leave them:
    softplus for one bound, sigmoid for two; near a bound κ moves ever more slowly.

    Args:
        value: κ at the start.
        trainable: whether an optimiser sees it.
        lower: κ stays above this, if given.
        upper: κ stays below this, if given.
        dtype: of the parameter; torch's default dtype if not given. Points must have the same.

    >>> Curvature(-1.0, trainable=True)
    Curvature(-1, trainable)
    >>> float(Curvature(-1.0, upper=0.0)())
    -1.0
    """

    lower: float
    upper: float
    raw: Tensor

    def __init__(
        self,
        value: float = 0.0,
        *,
        trainable: bool = False,
        lower: float | None = None,
        upper: float | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.lower = -math.inf if lower is None else float(lower)
        self.upper = math.inf if upper is None else float(upper)
        self.trainable = trainable
        if not isinstance(value, Real) or not math.isfinite(value):
            raise GeometryError(f"value: expected a finite number, found {value!r}; train it with trainable=True.")
        try:
            start = self._inverse(float(value)) if self.lower < value < self.upper else math.nan
        except (ValueError, ZeroDivisionError):  # on a bound, to rounding
            start = math.nan
        if math.isnan(start):
            raise GeometryError(
                f"value: expected a curvature strictly between its bounds {self.lower:g} and {self.upper:g}, found "
                f"{value:g}; move the start or the bounds."
            )
        raw = torch.tensor(start, dtype=torch.get_default_dtype() if dtype is None else dtype)
        if trainable:
            self.raw = nn.Parameter(raw)
        else:
            self.register_buffer("raw", raw)

    def forward(self) -> Tensor:
        """κ as a tensor without axes."""
        raw = self.raw
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            return self.lower + (self.upper - self.lower) * torch.sigmoid(raw)
        if math.isfinite(self.lower):
            return self.lower + nn.functional.softplus(raw)
        if math.isfinite(self.upper):
            return self.upper - nn.functional.softplus(-raw)
        return raw

    def _inverse(self, value: float) -> float:
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            share = (value - self.lower) / (self.upper - self.lower)
            return math.log(share / (1 - share))
        if math.isfinite(self.lower):
            return _inverse_softplus(value - self.lower)
        if math.isfinite(self.upper):
            return -_inverse_softplus(self.upper - value)
        return value

    @property
    def value(self) -> float:
        """κ as a number."""
        return float(self().detach())

    @property
    def sign(self) -> int:
        """−1 hyperbolic, 0 Euclidean, 1 spherical, as of now."""
        return (self.value > 0) - (self.value < 0)

    def extra_repr(self) -> str:
        """Value, whether trained, bounds."""
        bounds = {"lower": self.lower, "upper": self.upper}
        parts = [f"{name}={bound:g}" for name, bound in bounds.items() if math.isfinite(bound)]
        return ", ".join([f"{self.value:.4g}", "trainable" if self.trainable else "fixed", *parts])


def _inverse_softplus(y: float) -> float:
    return y + math.log(-math.expm1(-y))
