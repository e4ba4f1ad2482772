"""How layers take the space they work in."""

from __future__ import annotations

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic

__all__ = ["Space", "as_manifold"]

Space = Stereographic | ProductManifold | str | float | None


def as_manifold(space: Space, dim: int | None) -> Stereographic | ProductManifold:
    """The manifold itself, or one from a signature (curvatures trained), a number (fixed) or None (trained, from 0)."""
    if space is None:
        return Stereographic(Curvature(0.0, trainable=True), dim=dim)
    if isinstance(space, str):
        space = ProductManifold.from_signature(space, trainable=True)
    elif isinstance(space, float | int) and not isinstance(space, bool):
        space = Stereographic(float(space), dim=dim)
    if not isinstance(space, Stereographic | ProductManifold):
        raise GraphError(
            f'expected a manifold, a signature such as "H8xS8", a number or None, found {type(space).__name__}.'
        )
    if dim is not None and space.dim is not None and space.dim != dim:
        raise GraphError(f"expected {space.dim} channels, as the space {_named(space)} has, found {dim}.")
    return space


def _named(space: Stereographic | ProductManifold) -> str:
    return space.signature if isinstance(space, ProductManifold) else f"with κ = {space.curvature.value:g}"
