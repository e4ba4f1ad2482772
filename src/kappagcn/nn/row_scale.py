"""Curvatures and rows of layers whose scale is taken from the input."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.geometry.curvature import RelativeCurvature
from kappagcn.geometry.manifold import Manifold
from kappagcn.geometry.signature import Factor, parse_signature
from kappagcn.nn.inputs import Space, as_manifold
from kappagcn.sparse import SparseMatrix
from kappagcn.tracing import is_concrete


def space_of_layer(manifold: Space, dim: int) -> Manifold:
    """The space of a layer: as given, or with curvatures in units of the input rows if the signature has no numbers."""
    if manifold is None:
        manifold = Stereographic(RelativeCurvature(0.0, trainable=True, weigh_long=True), dim=dim)
    elif isinstance(manifold, str):
        manifold = relative_space(manifold, weigh_long=True)
    return as_manifold(manifold, dim)


def relative_space(signature: str, *, trainable: bool = True, weigh_long: bool = False) -> ProductManifold:
    """A product whose curvatures are given by numbers in the signature, or otherwise are in units of the input rows.

    With `trainable` False they stay as they start; for `weigh_long` see `RelativeCurvature`.

    >>> relative_space("H2xS2(0.5)").factors[1].curvature
    Curvature(0.5, trainable)
    """
    factors = zip(parse_signature(signature), parse_signature(signature, start=2.0), strict=True)
    options = {"trainable": trainable, "weigh_long": weigh_long}
    return ProductManifold(Stereographic(_curvature(f, f == other, **options), dim=f.dim) for f, other in factors)


def _curvature(factor: Factor, is_given: bool, *, trainable: bool, weigh_long: bool) -> Curvature:
    """The curvature of a factor: absolute if the signature has its number or it is E, otherwise in units of rows."""
    if is_given and (factor.letter, factor.kappa) != ("U", 0.0):
        return Curvature(factor.kappa, trainable=trainable and factor.letter != "E")
    return RelativeCurvature(factor.kappa, trainable=trainable, weigh_long=weigh_long)


class RowScale(nn.Module):
    """A factor that scales long rows to a median length of LIMIT, determined from the first rows that are seen.

    With long rows, one step of Adam, whose size is fixed, changes their product with the weights so much that layers
    may never recover. The factor is part of the state, negative until the first rows are seen.
    """

    LIMIT = 4.0

    factor: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("factor", torch.tensor(-1.0))
        self.pending = True

    def forward(self, x: Tensor | SparseMatrix, v: Tensor) -> Tensor:
        """V = XW of rows X, scaled."""
        if self.pending and can_observe(v):
            self.observe(x)
        return v * self.factor.abs()

    @torch.no_grad()
    def observe(self, x: Tensor | SparseMatrix) -> None:
        """Set the factor."""
        if isinstance(x, SparseMatrix):
            squares = x.values.detach().to(self.factor.dtype).square()
            squares = squares.new_zeros(x.shape[0]).index_add(0, x.rows, squares)
        else:
            squares = x.detach().to(self.factor.dtype).square().sum(-1)
        median = squares.masked_fill(squares == 0, torch.nan).nanmedian().sqrt()  # robust against a few very long rows
        self.factor.copy_(self.LIMIT / median.nan_to_num(0.0).clamp(min=self.LIMIT))
        self.pending = False

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self.pending = not self.factor.is_meta and bool(self.factor < 0)


def is_relative(manifold: Manifold) -> bool:
    """Whether a curvature of the space is in units of rows."""
    return any(isinstance(module, RelativeCurvature) for module in manifold.modules())


def observe_rows(v: Tensor, manifold: Manifold, adjacency: SparseMatrix | None = None) -> None:
    """Pass rows, (N, D), to curvatures in units of rows: the first rows, and in training all rows.

    With the matrix that multiplies them, the rows of all ranks that share it count.
    """
    ready = can_observe(v)
    if not (ready if adjacency is None else adjacency.any_rank(ready)):
        return
    mean = torch.mean if adjacency is None else adjacency.mean_over_ranks
    curvatures = [module for module in manifold.modules() if isinstance(module, Curvature)]
    parts = v.split(manifold.dims, -1) if isinstance(manifold, ProductManifold) else [v]
    for curvature, part in zip(curvatures, parts, strict=True):
        if isinstance(curvature, RelativeCurvature) and (curvature.pending or manifold.training):
            curvature.observe(part, mean)


def can_observe(v: Tensor) -> bool:
    """Whether v has values that can be stored: not while a network is exported or transformed."""
    if torch.compiler.is_compiling():
        return not torch.compiler.is_exporting()
    return is_concrete(v) and v.shape[0] > 0
