"""κ-stereographic geometry: pure functions on tensors, and the modules that own a curvature.

Functions take the signed curvature as the keyword ``k``, a number or a tensor; see
`kappagcn.geometry.stereographic` for the conventions. Importing this package imports torch, and no other large package.
"""

from kappagcn.geometry.ambient import from_ambient, lift, lower, tangent_dist, to_ambient
from kappagcn.geometry.checks import Check, check_point, check_vector, origin
from kappagcn.geometry.convert import from_geoopt, to_geoopt
from kappagcn.geometry.curvature import Curvature
from kappagcn.geometry.gyro import (
    coadd,
    cosub,
    fn_apply,
    geodesic,
    geodesic_unit,
    gyration,
    pointwise_mul,
    retract,
    transport,
    transport0,
    transport0back,
)
from kappagcn.geometry.hyperplane import dist2plane, logits
from kappagcn.geometry.manifold import Stereographic
from kappagcn.geometry.means import frechet_mean, matmul_left, matmul_right, midpoint, tangential_mean
from kappagcn.geometry.pairwise import cdist, cdist2
from kappagcn.geometry.product import ProductManifold
from kappagcn.geometry.random import random_uniform, random_wrapped_normal
from kappagcn.geometry.signature import parse_signature
from kappagcn.geometry.stereographic import (
    add,
    antipode,
    dist,
    dist0,
    dist2,
    egrad2rgrad,
    expmap,
    expmap0,
    inner,
    lambda_x,
    logmap,
    logmap0,
    neg,
    norm,
    project,
    scale,
    sub,
)

__all__ = [
    "Check",
    "Curvature",
    "ProductManifold",
    "Stereographic",
    "add",
    "antipode",
    "cdist",
    "cdist2",
    "check_point",
    "check_vector",
    "coadd",
    "cosub",
    "dist",
    "dist0",
    "dist2",
    "dist2plane",
    "egrad2rgrad",
    "expmap",
    "expmap0",
    "fn_apply",
    "frechet_mean",
    "from_ambient",
    "from_geoopt",
    "geodesic",
    "geodesic_unit",
    "gyration",
    "inner",
    "lambda_x",
    "lift",
    "logits",
    "logmap",
    "logmap0",
    "lower",
    "matmul_left",
    "matmul_right",
    "midpoint",
    "neg",
    "norm",
    "origin",
    "parse_signature",
    "pointwise_mul",
    "project",
    "random_uniform",
    "random_wrapped_normal",
    "retract",
    "scale",
    "sub",
    "tangent_dist",
    "tangential_mean",
    "to_ambient",
    "to_geoopt",
    "transport",
    "transport0",
    "transport0back",
]
