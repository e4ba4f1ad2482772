"""A curvature: one signed number, fixed or trained, free to cross zero unless bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import GeometryError


class Curvature(nn.Module):
    """κ, the signed sectional curvature of one space.

    Without bounds the trained parameter is κ itself, so that a step of the optimiser is a step of κ, also
    through zero. With bounds the parameter is ``raw``, and κ a smooth increasing function of it that stays within them:
    softplus for one bound, sigmoid for two; κ changes more and more slowly towards a bound.

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
    def unit(self) -> float:
        """Factor from raw to κ, for a curvature without bounds."""
        return 1.0

    @property
    def sign(self) -> int:
        """Current sign of κ: −1 hyperbolic, 0 Euclidean, 1 spherical."""
        return (self.value > 0) - (self.value < 0)

    def extra_repr(self) -> str:
        """Value, whether trained, bounds."""
        bounds = {"lower": self.lower, "upper": self.upper}
        parts = [f"{name}={bound:g}" for name, bound in bounds.items() if math.isfinite(bound)]
        return ", ".join([f"{self.value:.4g}", "trainable" if self.trainable else "fixed", *parts])


class RelativeCurvature(Curvature):
    """A curvature in units of the data: κ = raw · SHARE/r², with r² the mean square length of the rows.

    The effect of a curvature depends on the size of vectors, through κr². So raw = ±1 is a slight curvature for rows of
    any size, and a step of an optimiser has the same effect on all. The first rows set r²; while a network is trained
    and its rows grow, r² follows as a running mean. It is part of the state, negative until the first rows are seen;
    until then κ = raw.

    Args:
        value: Initial raw: −1, 0 or 1 for a space that starts hyperbolic, flat or spherical.
        trainable: Whether κ is a trained parameter.
        dtype: Dtype of the parameter.
        weigh_long: Whether r² = Σ|x|⁴/Σ|x|², in which long rows count more, replaces the mean of |x|²: a few rows far
            longer than the others are then only slightly curved too, and do not dominate midpoints.

    >>> curvature = RelativeCurvature(-1.0)
    >>> curvature.observe(torch.tensor([[3.0, 4.0], [0.0, 5.0]]))
    >>> f"{curvature.value:.6f}"  # −1/64 of 1/25
    '-0.000625'
    """

    SHARE = 1 / 64  # 2√|κ|r = ¼ at raw = ±1
    MOMENTUM = 0.1  # momentum of the running mean

    mean_square: Tensor

    def __init__(
        self,
        value: float = 0.0,
        *,
        trainable: bool = False,
        dtype: torch.dtype | None = None,
        weigh_long: bool = False,
    ) -> None:
        super().__init__(value, trainable=trainable, dtype=dtype)
        self.weigh_long = weigh_long
        self.register_buffer("mean_square", torch.full_like(self.raw, -self.SHARE).detach())
        self.pending = True

    def forward(self) -> Tensor:
        """κ as a tensor without axes."""
        return self.raw * (self.SHARE / self.mean_square.abs())

    @property
    def unit(self) -> float:
        """Factor from raw to κ."""
        return self.SHARE / float(self.mean_square.abs())

    def reset_parameters(self) -> None:
        """Forget the mean square length, which the next rows set again; raw stays."""
        self.mean_square.fill_(-self.SHARE)
        self.pending = True

    @torch.no_grad()
    def observe(self, rows: Tensor, mean: Callable[[Tensor], Tensor] = torch.mean) -> None:
        """Take the mean square length from the first rows, (N, D), then follow that of later rows; 0 is ignored.

        `mean` is the function that averages numbers of rows, (N,), over all ranks that share the rows.
        """
        squares = rows.detach().to(self.mean_square.dtype).square().sum(-1)
        square = mean(squares)
        if self.weigh_long:
            square = mean(squares * squares) / square  # infinite for rows beyond 1e9, which makes the space flat
        if not self.pending:
            square = torch.lerp(self.mean_square, square, self.MOMENTUM)
        self.mean_square.copy_(torch.where(square > 0, square, self.mean_square))
        self.pending = False

    @torch.no_grad()
    def set_mean_square(self, value: float) -> None:
        """Set the mean square length; 0 is ignored."""
        if value > 0:
            self.mean_square.fill_(value)
            self.pending = False

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self.pending = not self.mean_square.is_meta and bool(self.mean_square < 0)


def _inverse_softplus(y: float) -> float:
    return y + math.log(-math.expm1(-y))
