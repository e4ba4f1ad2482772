"""To geoopt's manifolds and back. Points need no conversion: coordinates and metric are the same."""

from __future__ import annotations

from typing import Any

from kappagcn.errors import GeometryError
from kappagcn.geometry.curvature import Curvature
from kappagcn.geometry.manifold import Stereographic
from kappagcn.geometry.product import ProductManifold


def _geoopt() -> Any:
    try:
        import geoopt
    except ImportError:
        raise ImportError("geoopt is not installed; install it with: pip install geoopt") from None
    return geoopt


def to_geoopt(manifold: Stereographic | ProductManifold) -> Any:
    """``geoopt.Stereographic`` or ``geoopt.ProductManifold`` with the same curvatures; trainable ones stay trainable.

    Bounds of a `Curvature` are not kept: geoopt has none.

    >>> to_geoopt(Stereographic(-0.5)).k.item()
    -0.5
    """
    geoopt = _geoopt()
    if isinstance(manifold, Stereographic):
        return geoopt.Stereographic(k=manifold.k.detach().clone(), learnable=manifold.curvature.trainable)
    if isinstance(manifold, ProductManifold):
        spaces = zip(manifold._spaces(), manifold.dims, strict=True)
        return geoopt.ProductManifold(*((to_geoopt(space), dim) for space, dim in spaces))
    raise GeometryError(f"expected a Stereographic or a ProductManifold, found {type(manifold).__name__}.")


def from_geoopt(manifold: Any) -> Stereographic | ProductManifold:
    """`Stereographic` or `ProductManifold` with the curvatures, dtypes and ties of a geoopt manifold.

    Takes ``Stereographic`` with its kinds ``PoincareBall`` and ``SphereProjection``, ``Euclidean``, and products of
    these. geoopt's Euclidean distance is |x−y|, half of ours at κ = 0.

    >>> import geoopt
    >>> from_geoopt(geoopt.PoincareBall(c=1.0)).curvature.sign
    -1
    """
    geoopt = _geoopt()
    if not isinstance(manifold, geoopt.ProductManifold):
        return Stereographic(_curvature(manifold, geoopt))
    shared: dict[int, Curvature] = {}
    spaces = []
    for factor, shape in zip(manifold.manifolds, manifold.shapes, strict=True):
        if len(shape) != 1:
            raise GeometryError(f"expected factors of vectors, found one of shape {tuple(shape)}.")
        curvature = shared.setdefault(id(factor), _curvature(factor, geoopt))
        spaces.append(Stereographic(curvature, dim=int(shape[0])))
    return ProductManifold(spaces)


def _curvature(manifold: Any, geoopt: Any) -> Curvature:
    if isinstance(manifold, geoopt.Stereographic):
        k = manifold.k.detach()
        return Curvature(float(k), trainable=bool(manifold.k.requires_grad), dtype=k.dtype)
    if isinstance(manifold, geoopt.Euclidean):
        return Curvature(0.0)
    raise GeometryError(
        f"expected geoopt's Stereographic, PoincareBall, SphereProjection, Euclidean or a product of them, found "
        f"{type(manifold).__name__}."
    )
