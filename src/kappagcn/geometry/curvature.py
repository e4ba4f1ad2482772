"""A curvature: one signed number, fixed or trained, free to cross zero unless bounded."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import GeometryError


class Curvature(nn.Module):
    """κ, the signed sectional curvature of one space.

    Without bounds the trained parameter is κ itself, so that a step of the optimiser is a step of κ, also
    through zero. With bounds the parameter is ``raw``, and κ a smooth increasing function of it that stays within them:
    softplus for one bound, sigmoid for two; κ changes more and more slowly towards a bound. ``raw`` has one axis,
    (1,), because sharded training (FSDP) takes no parameters without axes.

    Args:
        value: Initial κ.
        trainable: Whether κ is a trained parameter.
        lower: Bound that κ stays above, if given.
        upper: Bound that κ stays below, if given.
        dtype: Dtype of the parameter and of points; torch's default dtype by default.

    >>> Curvature(-1.0, trainable=True)
    Curvature(-1, trainable)
    >>> float(Curvature(-1.0, upper=0.0)())
    -1.0
    """

    lower: float
    upper: float
    initial: float
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
        except (ValueError, ZeroDivisionError):  # equal to a bound up to rounding
            start = math.nan
        if math.isnan(start):
            raise GeometryError(
                f"value: expected a curvature strictly between its bounds {self.lower:g} and {self.upper:g}, found "
                f"{value:g}; move the start or the bounds."
            )
        self.initial = float(value)
        raw = torch.full((1,), start, dtype=torch.get_default_dtype() if dtype is None else dtype)
        if trainable:
            self.raw = nn.Parameter(raw)
        else:
            self.register_buffer("raw", raw)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Set κ to its initial value."""
        self.raw.fill_(self._inverse(self.initial))

    def forward(self) -> Tensor:
        """κ as a tensor without axes."""
        raw = self.raw.reshape(())
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
        """κ as a number: on the meta device the initial one, NaN where the parameter is sharded over ranks."""
        if self.raw.is_meta:
            return self.initial
        return math.nan if hasattr(self.raw, "full_tensor") else float(self().detach())

    @property
    def unit(self) -> float:
        """Factor from raw to κ, for a curvature without bounds."""
        return 1.0

    @property
    def sign(self) -> int:
        """Current sign of κ: −1 hyperbolic, 0 Euclidean, 1 spherical."""
        return (self.value > 0) - (self.value < 0)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        add_axis(state_dict, f"{prefix}raw")
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def extra_repr(self) -> str:
        """Value, whether trained, bounds."""
        bounds = {"lower": self.lower, "upper": self.upper}
        parts = [f"{name}={bound:g}" for name, bound in bounds.items() if math.isfinite(bound)]
        return ", ".join([f"{self.value:.4g}", "trainable" if self.trainable else "fixed", *parts])


def add_axis(state_dict: dict[str, Any], *keys: str) -> None:
    """Give these numbers of a state the one axis of parameters, (1,), which they lack in states of version 0.2."""
    for key in keys:
        if key in state_dict and state_dict[key].dim() == 0:
            state_dict[key] = state_dict[key].reshape(1)


def _inverse_softplus(y: float) -> float:
    return y + math.log(-math.expm1(-y))
