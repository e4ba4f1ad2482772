"""κ-stereographic geometry: pure functions on tensors, and the modules that own a curvature.

Importing this imports torch and nothing heavy besides.
"""

from kappagcn.geometry.ambient import from_ambient, lift, lower, tangent_dist, to_ambient
from kappagcn.geometry.frechet import frechet_mean
from kappagcn.geometry.hyperplane import dist2plane, logits
from kappagcn.geometry.midpoint import matmul_left, matmul_right, midpoint, tangential_mean
from kappagcn.geometry.pairwise import cdist
from kappagcn.geometry.random import random_uniform, random_wrapped_normal
from kappagcn.geometry.stereographic import (
    add,
    antipode,
    dist,
    dist0,
    egrad2rgrad,
    expmap,
    expmap0,
    geodesic,
    gyration,
    inner,
    lambda_x,
    logmap,
    logmap0,
    neg,
    norm,
    project,
    scale,
    sub,
    transport,
)
