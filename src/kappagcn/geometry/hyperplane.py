r"""Hyperplanes and κ-logits (arXiv:1911.05076, eq. 12 and appendix).

The hyperplane through p with normal a is {x : ⟨−p ⊕ x, a⟩ = 0}. The signed distance of x to it is arsin_κ⟨E(x), n⟩,
with E the lift of x and n = (â − κλ_p⟨p,â⟩p, −λ_p⟨p,â⟩), â = a/|a|: all logits of all points are one matrix product.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.geometry import vectors
from kappagcn.geometry.ambient import join, to_ambient
from kappagcn.geometry.checks import (
    Scalar,
    as_curvature,
    broadcast,
    conformal_at,
    demand_finite,
    read_sets,
    read_vectors,
)
from kappagcn.geometry.difference import difference
from kappagcn.geometry.numerics import arsin_k, arsin_over
from kappagcn.geometry.vectors import dot, matmul, unit


def dist2plane(x: Tensor, p: Tensor, a: Tensor, *, k: Scalar, keepdim: bool = False) -> Tensor:
    r"""Signed distance of x to the hyperplane through p with normal a: (..., D) each → (...). κ → 0: 2⟨x−p, a⟩/|a|.

        sin_κ(d) = 2⟨p_p δ + κ|δ|² p, â⟩ / (p_p p_x),    δ = x − p,  p_x = 1 + κ|x|².

    Positive on the side to which a points; at most π/(2√κ) for κ > 0. The normal's length does not matter; for a normal
    of 0, which has no hyperplane, the distance is 0.

    >>> float(dist2plane(torch.tensor([0.5, 0.0]), torch.zeros(2), torch.tensor([1.0, 0.0]), k=-1.0))
    1.0986...
    """
    k = as_curvature(k, x, read_vectors(x=x, p=p, a=a))
    demand_finite(vectors.norm(a), "a")
    d = difference(p, x, k)
    signed = arsin_k(2 * dot(d.numerator, unit(a)) / d.P, k=k)
    return signed if keepdim else signed.squeeze(-1)


def logits(x: Tensor, p: Tensor, a: Tensor, *, k: Scalar) -> Tensor:
    """κ-logits λ_p|a|·dist2plane(x, p, a) for C classes: (..., N, D), (..., C, D), (..., C, D) → (..., N, C).

    κ → 0: 4⟨x − p, a⟩. A normal of 0 gives logit 0 and still gets a gradient.

    Args:
        x: Points, (..., N, D).
        p: A point on each class's hyperplane, (..., C, D).
        a: Normals of the hyperplanes, (..., C, D).
        k: Curvature: a number, or a tensor that broadcasts against the batch shape (...).

    >>> x, p, a = torch.tensor([[0.5, 0.3]]), torch.zeros(2, 2), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> logits(x, p, a, k=-1.0)
    tensor([[2.4063, 1.6312]])
    >>> logits(x, p, a, k=0.0)
    tensor([[2.0000, 1.2000]])
    """
    batch = read_sets(x=x, p=p, a=a)
    broadcast({"p": p.shape[:-1], "a": a.shape[:-1]})
    k = as_curvature(k, x, batch, trailing=2)
    factor = 2 / conformal_at(p, k, "p")
    offset = factor * dot(p, a)
    normal = join(a - k * offset * p, -offset)
    product = matmul(to_ambient(x, k=k.squeeze(-1)), normal.mT)
    length = vectors.norm(a)
    demand_finite(length, "a")
    sine = product / torch.where(length == 0, 1, length).mT
    return factor.mT * product * arsin_over(sine, k)
