"""Curvatures and rows of layers whose scale is taken from the input."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.geometry.curvature import RelativeCurvature, set_once
from kappagcn.geometry.manifold import Manifold
from kappagcn.geometry.signature import Factor, parse_signature
from kappagcn.nn.inputs import Space, as_manifold, factors_of
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
    may never recover. The factor is a buffer, −1 until the first rows are seen and constant afterwards.
    """

    LIMIT = 4.0

    factor: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("factor", torch.tensor(-1.0))

    def reset_parameters(self) -> None:
        """Forget the factor, which the next rows set again."""
        self.factor.fill_(-1)

    def forward(self, x: Tensor | SparseMatrix, v: Tensor) -> Tensor:
        """V = XW of rows X, scaled."""
        if can_observe(v):
            if isinstance(x, SparseMatrix):
                set_once(self.factor, partial(self._of_entries, count=x.shape[0]), x.values, x.rows)
            else:
                set_once(self.factor, self._of_rows, x)
        return v * self.factor.abs()

    def _of_entries(self, values: Tensor, rows: Tensor, *, count: int) -> Tensor:
        squares = values.double().square()
        return self._of_lengths(squares.new_zeros(count).index_add(0, rows, squares).sqrt())

    def _of_rows(self, rows: Tensor) -> Tensor:
        return self._of_lengths(torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64))

    def _of_lengths(self, lengths: Tensor) -> Tensor:
        median = lengths.masked_fill(lengths == 0, torch.nan).nanmedian()  # robust against a few very long rows
        return self.LIMIT / median.nan_to_num(0.0).clamp(min=self.LIMIT)


def is_relative(manifold: Manifold) -> bool:
    """Whether a curvature of the space is in units of rows."""
    return any(isinstance(module, RelativeCurvature) for module in manifold.modules())


def observe_rows(v: Tensor, manifold: Manifold, adjacency: SparseMatrix | None = None) -> None:
    """Set the scale of curvatures in units of rows by the first rows, (N, D).

    With the matrix that multiplies them, the rows of all ranks that share it count.
    """
    ready = can_observe(v)
    if not (ready if adjacency is None else adjacency.any_rank(ready)):
        return
    mean = torch.mean if adjacency is None else adjacency.mean_over_ranks
    spaces = manifold.factors if isinstance(manifold, ProductManifold) else [manifold]
    for space, part in zip(spaces, v.split(factors_of(v, manifold)[1], -1), strict=True):
        if isinstance(space.curvature, RelativeCurvature):
            space.curvature.observe(part, mean)


def can_observe(v: Tensor) -> bool:
    """Whether v has values that can be stored: not while a network is exported or transformed."""
    if torch.compiler.is_compiling():
        return not torch.compiler.is_exporting()
    return is_concrete(v) and v.shape[0] > 0
