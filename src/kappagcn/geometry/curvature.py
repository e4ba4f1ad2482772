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


class RelativeCurvature(Curvature):
    """A curvature in units of the data: κ = raw/scale², scale = 8√(r² + 4²), r² the mean square length of the rows.

    The effect of a curvature depends on the size of vectors, through κr². So raw = ±1 is a slight curvature for rows of
    any size, and a step of an optimiser has the same effect on all. The first rows set the scale, a buffer that is −1
    until then and constant afterwards. Short rows count as rows of length 4, to which training makes them grow: a
    classifier's logits are of this size, however small the weights are at first.

    Args:
        value: Initial raw: −1, 0 or 1 for a space that starts hyperbolic, flat or spherical.
        trainable: Whether κ is a trained parameter.
        dtype: Dtype of the parameter.
        weigh_long: Whether r² = Σ|x|⁴/Σ|x|², in which long rows count more, replaces the mean of |x|²: a few rows far
            longer than the others are then only slightly curved too, and do not dominate midpoints.

    >>> curvature = RelativeCurvature(-1.0)
    >>> curvature.observe(torch.tensor([[3.0, 4.0], [0.0, 5.0]]))
    >>> f"{curvature.value:.6f}"  # −1/64 of 1/(25 + 16)
    '-0.000381'
    """

    LENGTHS = 8.0  # scale in lengths of rows: 2√|κ|r = ¼ at raw = ±1 for long rows
    GROWN = 4.0  # length to which short rows grow; chosen on validation nodes among 0, 2, 4 and 8

    scale: Tensor

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
        self.register_buffer("scale", -torch.ones_like(self.raw).detach().squeeze(0))

    def reset_parameters(self) -> None:
        """Set raw to its initial value and forget the scale, which the next rows set again."""
        super().reset_parameters()
        self.scale.fill_(-1)

    def forward(self) -> Tensor:
        """κ as a tensor without axes, at least in float32: half precision has no numbers as small."""
        dtype = torch.promote_types(self.raw.dtype, torch.float32)
        return self.raw.reshape(()).to(dtype) / self.scale.to(dtype).square()

    @property
    def unit(self) -> float:
        """Factor from raw to κ."""
        return float(self.scale) ** -2

    def observe(self, rows: Tensor, mean: Callable[[Tensor], Tensor] = torch.mean) -> None:
        """Take the scale from the first rows, (N, D), unless it is set; rows of zeros do not set it.

        `mean` is the function that averages numbers of rows, (N,), over all ranks that share the rows.
        """

        def scale_of(rows: Tensor) -> Tensor:
            squares = rows.double().square().sum(-1)
            square = mean(squares)
            if self.weigh_long:
                square = mean(squares * squares) / square
            return self.LENGTHS * torch.where(square > 0, square + self.GROWN**2, torch.nan).sqrt()

        set_once(self.scale, scale_of, rows)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Load a state; in those of version 0.2 there is r² in place of the scale."""
        square = state_dict.pop(f"{prefix}mean_square", None)
        if square is not None:
            state_dict[f"{prefix}scale"] = torch.where(square > 0, self.LENGTHS * square.abs().sqrt(), -1)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


@torch.no_grad()
def set_once(scale: Tensor, measure: Callable[..., Tensor], *tensors: Tensor) -> None:
    """Set a scale, which is negative until then, to that measured of tensors, if it is a positive number.

    >>> scale = torch.tensor(-1.0)
    >>> for rows in (torch.zeros(2), torch.ones(2), 5 * torch.ones(2)):
    ...     set_once(scale, torch.mean, rows)
    >>> float(scale)
    1.0
    """

    def measured(scale: Tensor, *tensors: Tensor) -> Tensor:
        value = measure(*tensors).clamp(max=torch.finfo(scale.dtype).max).to(scale.dtype)
        return torch.where((scale < 0) & (value > 0), value, scale)

    inputs = (scale, *(t.detach() for t in tensors))
    if torch.compiler.is_compiling():  # measures the first rows alone
        scale.copy_(torch.cond(scale < 0, measured, lambda scale, *_: scale.clone(), inputs))
    else:
        scale.copy_(measured(*inputs))


def add_axis(state_dict: dict[str, Any], *keys: str) -> None:
    """Give these numbers of a state the one axis of parameters, (1,), which they lack in states of version 0.2."""
    for key in keys:
        if key in state_dict and state_dict[key].dim() == 0:
            state_dict[key] = state_dict[key].reshape(1)


def _inverse_softplus(y: float) -> float:
    return y + math.log(-math.expm1(-y))
