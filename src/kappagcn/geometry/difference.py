r"""The gyrovector −u ⊕ y, from which the functions of two points are computed.

With δ = y − u and p_x = 1 + κ|x|²,

    −u ⊕ y = (p_u δ + κ|δ|² u) / (P cos_κ²(d/2)),    sin_κ(d/2) = |δ|/√P,    P = p_u p_y,

which is the paper's addition in terms that do not cancel for close points. For other points the numerator has the
form of the paper, and beyond a quarter of a great circle its length gives the cosine, accurate up to antipodes.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kappagcn.geometry.checks import conformal, inside
from kappagcn.geometry.numerics import ARC_SINE_BELOW, cosine_square, eps
from kappagcn.geometry.vectors import Gram, gram


class Difference(NamedTuple):
    """−u ⊕ y = numerator/denominator and its terms; all except the vectors have a last axis of size 1."""

    delta: Tensor  # y − u
    numerator: Tensor
    size: Tensor  # |numerator|, without a gradient
    denominator: Tensor  # P·cos_κ²(d/2)
    p: Tensor  # 1 + κ|u|²
    P: Tensor  # (1 + κ|u|²)(1 + κ|y|²)
    products: Gram
    z: Tensor  # κ·sin_κ²(d/2)
    sine: Tensor  # sin_κ(d/2)
    cosine: Tensor  # cos_κ(d/2)
    antipodal: Tensor  # mask of pairs without a direction from u to y, up to rounding

    def along(self, factor: Tensor, at_antipode: Tensor) -> Tensor:
        """The numerator times ``factor``; at antipodes, where its direction is lost, (y − u)·``at_antipode``."""
        return torch.where(self.antipodal, at_antipode * self.delta, factor * self.numerator)


def difference(u: Tensor, y: Tensor, k: Tensor, p_y: Tensor | None = None) -> Difference:
    """−u ⊕ y; ``p_y`` is 1 + κ|y|², if it is known more precisely than from y."""
    u, y = torch.broadcast_tensors(u, y)
    products = gram(u, y)
    uu, uy, yy, square, length = products
    p = conformal(inside(uu, k, "x"), k)
    if p_y is None:
        p_y = conformal(inside(yy, k, "y"), k)
    P = p * p_y
    z = k * square / P
    delta = y - u
    # Two forms of the numerator: one cancels for close points, the other for norms of different size.
    apart = square > torch.maximum(uu, yy) / 4
    back = torch.where(apart, k * yy - 2 * k * uy - 1, k * square)
    numerator = p * torch.where(apart, y, delta) + back * u
    # cos² = |numerator|²/(|δ|²P) is 1 − z without its cancellation at antipodes: the value of the one, the
    # derivative of the other.
    far = z >= ARC_SINE_BELOW
    size = torch.linalg.vector_norm(numerator.detach(), dim=-1, keepdim=True)
    squared_cosine = cosine_square(z, (size / torch.where(far, length, 1)).square() / P)
    cosine = squared_cosine.sqrt()
    antipodal = cosine < eps(u)
    denominator = torch.where(far, P * torch.where(antipodal, 1, squared_cosine), P - k * square)
    return Difference(delta, numerator, size, denominator, p, P, products, z, length / P.sqrt(), cosine, antipodal)
