"""The layers' mathematics as pure functions of tangent vectors at the origin, V = log_0(H).

The paper's exp_0 and log_0 cancel between the steps of a layer (geometry, "ambient"), so a κ-GCN layer is

    V' = σ(lower(Â · lift(V W))),

without a ball and without a boundary; at κ = 0 it is GCN's, to the last digit.
"""

from __future__ import annotations

from torch import Tensor

from kappagcn.geometry import ProductManifold, Stereographic
from kappagcn.graphs.sparse import SparseMatrix
from kappagcn.nn.midpoints import midpoints

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
    adjacency = adjacency.to(v.dtype)
    if isinstance(manifold, ProductManifold):
        manifold.split(v)
        return midpoints(v, adjacency, manifold.k, manifold.dims, double=double)
    return midpoints(v, adjacency, manifold.k.reshape(1), [v.shape[-1]], double=double)
