"""ManifoldParameter: points of a space as a parameter of a module."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import GeometryError
from kappagcn.geometry.manifold import Manifold


class ManifoldParameter(nn.Parameter):
    """Points (..., D) as a `torch.nn.Parameter` that knows its space, for `RiemannianAdam` and `RiemannianSGD`.

    Operations on it return ordinary tensors. Copies, pickles and conversions with ``module.to`` keep the space;
    register the space in the module too, so that its curvature is converted and, where it is trainable, trained.

    Args:
        data: Points of the space; refused if they are outside, see `kappagcn.geometry.project`.
        manifold: The space of the points.
        requires_grad: Whether the points are trained.

    >>> import torch
    >>> from kappagcn.geometry import Stereographic
    >>> points = ManifoldParameter(torch.zeros(4, 2), manifold=Stereographic(-1.0))
    >>> points.shape, points.requires_grad, points.manifold.curvature.value
    (torch.Size([4, 2]), True, -1.0)
    """

    manifold: Manifold

    def __new__(cls, data: Tensor, manifold: Manifold, requires_grad: bool = True) -> ManifoldParameter:
        """Check the points and wrap them."""
        if not isinstance(manifold, Manifold):
            raise GeometryError(
                f"manifold: expected a Stereographic or a ProductManifold, found {type(manifold).__name__}; convert a "
                f"geoopt manifold with kappagcn.geometry.from_geoopt."
            )
        ok, reason = (True, "") if data.is_meta else manifold.check_point(data)
        if not ok:
            raise GeometryError(f"data: expected points of the space; {reason}")
        return cls._from(data.detach(), manifold, requires_grad)

    @classmethod
    def _from(cls, data: Tensor, manifold: Manifold, requires_grad: bool) -> ManifoldParameter:
        """Copy without a check of the values, because κ may have changed since they were checked."""
        parameter: ManifoldParameter = torch.Tensor._make_subclass(cls, data, requires_grad)
        parameter.manifold = manifold
        return parameter

    @torch.no_grad()
    def project_(self) -> ManifoldParameter:
        """Move points that a change of κ left outside into the space, in place; see `kappagcn.geometry.project`."""
        self.copy_(self.manifold.project(self))
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ManifoldParameter:
        if id(self) not in memo:
            data = self.data.clone(memory_format=torch.preserve_format)
            memo[id(self)] = self._from(data, copy.deepcopy(self.manifold, memo), self.requires_grad)
        duplicate: ManifoldParameter = memo[id(self)]
        return duplicate

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self)._from, (self.data, self.manifold, self.requires_grad)

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Parameter on {self.manifold} containing:\n{self.data!r}"
