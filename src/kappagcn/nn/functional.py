"""The layers' mathematics as pure functions of tangent vectors at the origin, V = log_0(H).

The paper's exp_0 and log_0 cancel between the steps of a layer (geometry, "ambient"), so a κ-GCN layer is

    V' = σ(lower(Â · lift(V W))),

without a ball and without a boundary; at κ = 0 it is GCN's, to the last digit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.geometry import ProductManifold, Stereographic
from kappagcn.graphs.sparse import SparseMatrix
from kappagcn.nn.rows import lift_rows, lower_rows

__all__ = ["aggregate"]

Manifold = Stereographic | ProductManifold


def aggregate(v: Tensor, adjacency: SparseMatrix, manifold: Manifold, *, double: bool = False) -> Tensor:
    r"""κ-left-multiplication (eq. 8) on tangent vectors: log_0(A ⊠ exp_0(V)), (N, D) → (M, D). κ = 0: A·V.

    Row i is (Σ_j A_ij) · ½ρ_i N_i/|N_i| with [N | h] = A · lift(V): one sparse product of D+1 columns for each factor.

    Args:
        v: Tangent vectors at the origin, (N, D).
        adjacency: A, (M, N), with rows that sum to zero or more.
        manifold: A space, or a product of spaces whose dimensions sum to D.
        double: Lift, multiply and lower in float64. In float32 a result at distance r from the origin has a relative
            error of about ε·exp(2√−κ r)/r for κ < 0; that matters beyond r = 4/√−κ.
    """
    dtype = v.dtype
    if double:
        v, adjacency = v.double(), adjacency.to(torch.float64)
    else:
        adjacency = adjacency.to(dtype)
    weight = adjacency.row_sums()
    if isinstance(manifold, ProductManifold):
        parts = zip(manifold.split(v), manifold.k, strict=True)
        moved = torch.cat([_midpoints(part, adjacency, k, weight) for part, k in parts], dim=-1)
    else:
        moved = _midpoints(v, adjacency, manifold.k, weight)
    return moved.to(dtype)


def _midpoints(v: Tensor, adjacency: SparseMatrix, k: Tensor, weight: Tensor) -> Tensor:
    k = k.to(v.dtype)
    return lower_rows(adjacency.product(lift_rows(v, k)), k, weight)
