"""How layers take the space they work in."""

from __future__ import annotations

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic

__all__ = ["Space", "as_manifold"]

Space = Stereographic | ProductManifold | str | float | None


def as_manifold(space: Space, dim: int) -> Stereographic | ProductManifold:
    """The manifold itself, or one from a signature (curvatures trained), a number (fixed) or None (trained, from 0)."""
    if space is None:
        return Stereographic(Curvature(0.0, trainable=True), dim=dim)
    if isinstance(space, str):
        space = ProductManifold.from_signature(space, trainable=True)
    elif isinstance(space, float | int):
        space = Stereographic(float(space), dim=dim)
    if space.dim is not None and space.dim != dim:
        raise GraphError(f"expected out_channels of {space.dim}, as the manifold has, found {dim}.")
    return space
