"""To geoopt's manifolds and back. Points need no conversion: coordinates and metric are the same."""

from __future__ import annotations

from typing import Any

from kappagcn.errors import GeometryError
from kappagcn.geometry.curvature import Curvature
from kappagcn.geometry.manifold import Stereographic
from kappagcn.geometry.product import ProductManifold

__all__ = ["from_geoopt", "to_geoopt"]


def _geoopt() -> Any:
    try:
        import geoopt
    except ImportError:
        raise ImportError("geoopt is not installed; install it with: pip install 'kappagcn[geoopt]'") from None
    return geoopt


def to_geoopt(manifold: Stereographic | ProductManifold) -> Any:
    """``geoopt.Stereographic`` or ``geoopt.ProductManifold`` with the same curvatures; trainable stays trainable."""
    geoopt = _geoopt()
    if isinstance(manifold, Stereographic):
        return geoopt.Stereographic(k=manifold.k.detach().clone(), learnable=manifold.curvature.trainable)
    if isinstance(manifold, ProductManifold):
        spaces = zip(manifold._spaces(), manifold.dims, strict=True)
        return geoopt.ProductManifold(*((to_geoopt(space), dim) for space, dim in spaces))
    raise GeometryError(f"expected a Stereographic or a ProductManifold, found {type(manifold).__name__}.")


def from_geoopt(manifold: Any) -> Stereographic | ProductManifold:
    """:class:`Stereographic` or :class:`ProductManifold` with the curvatures of a geoopt manifold.

    Takes ``Stereographic`` with its kinds ``PoincareBall`` and ``SphereProjection``, ``Euclidean``, and products of
    these. geoopt's Euclidean distance is |x−y|, half of ours at κ = 0.
    """
    geoopt = _geoopt()
    if isinstance(manifold, geoopt.Stereographic):
        k = manifold.k
        return Stereographic(Curvature(float(k.detach()), trainable=bool(k.requires_grad)))
    if isinstance(manifold, geoopt.Euclidean):
        return Stereographic(0.0)
    if isinstance(manifold, geoopt.ProductManifold):
        spaces = []
        for factor, shape in zip(manifold.manifolds, manifold.shapes, strict=True):
            if len(shape) != 1:
                raise GeometryError(f"expected factors of vectors, found one of shape {tuple(shape)}.")
            space = from_geoopt(factor)
            if not isinstance(space, Stereographic):
                raise GeometryError("expected a flat product, found a product within a product.")
            spaces.append(Stereographic(space.curvature, dim=int(shape[0])))
        return ProductManifold(spaces)
    raise GeometryError(
        f"expected geoopt's Stereographic, PoincareBall, SphereProjection, Euclidean or a product of them, found "
        f"{type(manifold).__name__}."
    )
