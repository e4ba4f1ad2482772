"""Spaces and rows of layers that take their scale from what comes in."""

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
    """The space of a layer: as given, or in units of the rows that come in where there are no numbers."""
    if manifold is None or isinstance(manifold, str):
        manifold = relative_space(manifold, dim)
    return as_manifold(manifold, dim)


def relative_space(signature: str | None, dim: int) -> Manifold:
    """A space with trained curvatures: as given where a factor has a number, else in units of the rows it bends.

    >>> relative_space("H2xS2(0.5)", 4).factors[1].curvature
    Curvature(0.5, trainable)
    """
    if signature is None:
        return Stereographic(RelativeCurvature(0.0, trainable=True), dim=dim)
    factors = zip(parse_signature(signature), parse_signature(signature, start=2.0), strict=True)
    return ProductManifold(Stereographic(_curvature(f, f == other), dim=f.dim) for f, other in factors)


def _curvature(factor: Factor, is_given: bool) -> Curvature:
    """Of a factor whose number is given if it does not depend on the default; flat ones never do."""
    if is_given and (factor.letter, factor.kappa) != ("U", 0.0):
        return Curvature(factor.kappa, trainable=factor.letter != "E")
    return RelativeCurvature(factor.kappa, trainable=True)


class RowScale(nn.Module):
    """A factor that brings long rows to a mean square length of LIMIT², taken from the first rows that come in.

    An optimiser with a step of fixed size, such as Adam, moves the product of a long row and the weights so far in one
    step that layers may never recover. The factor is part of the state, negative until the first rows come.
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
        entries = x.values if isinstance(x, SparseMatrix) else x
        length = (entries.detach().to(self.factor.dtype).square().sum() / x.shape[0]).sqrt()
        self.factor.copy_(self.LIMIT / length.clamp(min=self.LIMIT))
        self.pending = False

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self.pending = not self.factor.is_meta and bool(self.factor < 0)


def is_relative(manifold: Manifold) -> bool:
    """Whether a curvature of the space is in units of rows."""
    return any(isinstance(module, RelativeCurvature) for module in manifold.modules())


def observe_rows(v: Tensor, manifold: Manifold) -> None:
    """Let curvatures in units of rows see rows, (N, D): the first, and in training all."""
    if not can_observe(v):
        return
    curvatures = [module for module in manifold.modules() if isinstance(module, Curvature)]
    parts = v.split(manifold.dims, -1) if isinstance(manifold, ProductManifold) else [v]
    for curvature, part in zip(curvatures, parts, strict=True):
        if isinstance(curvature, RelativeCurvature) and (curvature.pending or manifold.training):
            curvature.observe(part)


def can_observe(v: Tensor) -> bool:
    """Whether v has values that can be kept: not while a network is exported or transformed."""
    if torch.compiler.is_compiling():
        return not torch.compiler.is_exporting()
    return is_concrete(v) and v.shape[0] > 0
