"""Arguments of layers: rows, the space with its factors, and curvatures and rows whose scale the first rows set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.geometry.curvature import RelativeCurvature, set_once
from kappagcn.geometry.manifold import Manifold
from kappagcn.geometry.signature import parse_signature
from kappagcn.sparse import Matrix, SparseMatrix
from kappagcn.tracing import is_concrete

Features = Tensor | SparseMatrix
Adjacency = Tensor | SparseMatrix
NodeRows = Features | tuple[Features, Features | None]  # rows of all nodes, or of sources and of targets
Size = tuple[int, int] | None  # numbers of sources and targets
Space = Manifold | str | float | None


def check_rows(x: Any, columns: int | None, dtype: torch.dtype | None = None) -> None:
    """Refuse anything but rows of floating-point numbers with this number of columns and this dtype."""
    if not isinstance(x, Tensor | SparseMatrix):
        raise GraphError(f"x: expected a tensor (N, D), found {type(x).__name__}.")
    if len(x.shape) != 2 or (columns is not None and x.shape[1] != columns):
        wanted = "N, D" if columns is None else f"N, {columns}"
        raise GraphError(f"x: expected ({wanted}), found {tuple(x.shape)}.")
    if not x.dtype.is_floating_point:
        raise GraphError(f"x: expected floating-point numbers, found {x.dtype}; use x.float().")
    if dtype is None or x.dtype == dtype or torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
        return
    raise GraphError(
        f"x: expected {dtype}, as the layer's weights, found {x.dtype}; use x.to({dtype}) or layer.to({x.dtype})."
    )


def as_manifold(space: Space, dim: int | None, *, relative: bool = False) -> Manifold:
    """The manifold itself, or one from a signature (curvatures trained), a number (fixed) or None (trained, from 0).

    With `relative` curvatures without a number are in units of rows, in which long rows count more.
    """
    if space is None:
        flat = RelativeCurvature(trainable=True, weigh_long=True) if relative else Curvature(trainable=True)
        return Stereographic(flat, dim=dim)
    if isinstance(space, str):
        new = partial(relative_space, weigh_long=True) if relative else ProductManifold.from_signature
        space = new(space, trainable=True)
    elif isinstance(space, float | int) and not isinstance(space, bool):
        space = Stereographic(float(space), dim=dim)
    if not isinstance(space, Manifold):
        raise GraphError(
            f'expected a manifold, a signature such as "H8xS8", a number or None, found {type(space).__name__}.'
        )
    if dim is not None and space.dim is not None and space.dim != dim:
        raise GraphError(f"expected {space.dim} channels, as the space {space_name(space)} has, found {dim}.")
    return space


def relative_space(signature: str, *, trainable: bool = True, weigh_long: bool = False) -> ProductManifold:
    """A product whose curvatures are given by numbers in the signature, or otherwise are in units of the input rows.

    With `trainable` False they stay as they start; for `weigh_long` see `RelativeCurvature`.

    >>> relative_space("H2xS2(0.5)").factors[1].curvature
    Curvature(0.5, trainable)
    """
    spaces = []
    for factor, other in zip(parse_signature(signature), parse_signature(signature, start=2.0), strict=True):
        is_given = factor == other and (factor.letter, factor.kappa) != ("U", 0.0)  # the same from another start
        curvature = Curvature if is_given else partial(RelativeCurvature, weigh_long=weigh_long)
        kappa = curvature(factor.kappa, trainable=trainable and factor.letter != "E")
        spaces.append(Stereographic(kappa, dim=factor.dim))
    return ProductManifold(spaces)


def space_name(space: Manifold) -> str:
    """The signature of a space of known dimension, or its curvature."""
    if isinstance(space, Stereographic):
        if space.dim is None:
            return f"{space.curvature.value:.4g}"
        space = ProductManifold([space])
    assert isinstance(space, ProductManifold)
    return space.signature


def factors_of(v: Tensor, manifold: Manifold) -> tuple[Tensor, list[int]]:
    """Curvatures (F,) and dimensions of the factors, which must fit v's columns."""
    if manifold.dim is not None and manifold.dim != v.shape[-1]:
        raise GraphError(f"expected {manifold.dim} columns, as the space has dimensions, found {v.shape[-1]}.")
    spaces: Any = [manifold]
    dims = [v.shape[-1]]
    if isinstance(manifold, ProductManifold):
        spaces, dims = manifold.factors, manifold.dims
    return torch.stack([space.curvature() for space in spaces]), dims


class RowScale(nn.Module):
    """A factor that scales long rows to a median length of LIMIT, set by the first rows.

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

    def observe(self, x: Features, mean: Callable[[Tensor], Tensor]) -> None:
        """Set the factor by the first rows; `mean` averages a number of each row over all ranks."""

        def factor_of(values: Tensor, rows: Tensor | None = None) -> Tensor:
            squares = values.double().square()
            squares = squares.sum(1) if rows is None else squares.new_zeros(x.shape[0]).index_add(0, rows, squares)
            lengths = squares.masked_fill(squares == 0, torch.nan).sqrt()
            median = lengths.nanmedian()  # robust against a few very long rows
            return self.LIMIT / mean(median.nan_to_num(0.0).expand(len(lengths))).clamp(min=self.LIMIT)

        set_once(self.factor, factor_of, *((x.values, x.rows) if isinstance(x, SparseMatrix) else (x,)))


def observe_rows(
    v: Tensor,
    manifold: Manifold,
    adjacency: Matrix | None = None,
    *,
    x: Features | None = None,
    row_scale: RowScale | None = None,
) -> Tensor:
    """V = XW times the factor of `row_scale`, after the first rows have set it and the scales of curvatures.

    With the matrix that multiplies them, the rows of all ranks that share it count.
    """
    spaces: Any = manifold.factors if isinstance(manifold, ProductManifold) else [manifold]
    curvatures = [space.curvature for space in spaces]
    scales = [kappa.scale for kappa in curvatures if isinstance(kappa, RelativeCurvature)]
    scales += [] if row_scale is None else [row_scale.factor]
    if torch.compiler.is_compiling():
        is_settled = torch.compiler.is_exporting()
    else:  # on other devices reading a value would mean waiting
        is_settled = not is_concrete(v) or (v.is_cpu and all(scale > 0 for scale in scales))
    mean = torch.mean if adjacency is None else adjacency.mean_over_ranks
    if row_scale is not None:
        if not is_settled and x is not None:
            row_scale.observe(x, mean)
        v = v * row_scale.factor.abs()
    if not is_settled:
        dims = manifold.dims if isinstance(manifold, ProductManifold) else v.shape[-1]
        for kappa, part in zip(curvatures, v.split(dims, -1), strict=True):
            if isinstance(kappa, RelativeCurvature):
                kappa.observe(part, mean)
    return v
