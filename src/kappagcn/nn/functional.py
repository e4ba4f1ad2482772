"""The layers' mathematics as pure functions of tangent vectors at the origin, V = log_0(H).

The paper's exp_0 and log_0 cancel between the steps of a layer (geometry, "ambient"), so a κ-GCN layer is

    V' = σ(lower(Â · lift(V W))),

without a ball and without a boundary; at κ = 0 it is GCN's, to the last digit. In these coordinates the right product
X ⊗ W is V W, and the Möbius version of a pointwise function σ is σ(V).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold
from kappagcn.geometry.manifold import Manifold as Manifold
from kappagcn.nn.hyperplanes import hyperplane_logits
from kappagcn.nn.midpoints import count_edge_rows, midpoints
from kappagcn.nn.neighbourhoods import frechet, tangential_at_nodes
from kappagcn.nn.precision import at_least_single, is_lowered, without_autocast
from kappagcn.sparse import SparseMatrix
from kappagcn.tracing import is_cheap_to_read

AGGREGATIONS = ("midpoint", "tangential", "tangential-node", "frechet")


def linear(x: Tensor | SparseMatrix, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """κ-right-multiplication (eq. 7) on tangent vectors: log_0(X ⊗ W) = V W, (N, D) and (D, E) → (N, E), plus b.

    The bias is a tangent vector at the origin too. Sparse x stays sparse.

    >>> linear(torch.ones(1, 2), torch.eye(2), torch.tensor([0.5, 0.0]))
    tensor([[1.5000, 1.0000]])
    """
    product = x.product(weight) if isinstance(x, SparseMatrix) else x @ weight
    return product if bias is None else product + bias


def dropconnect(weight: Tensor, p: float, training: bool) -> Tensor:
    """The weights, in training with each set to 0 with probability p and the others divided by 1 − p."""
    return nn.functional.dropout(weight, p) if p and training else weight


def aggregate(
    v: Tensor, adjacency: SparseMatrix, manifold: Manifold, *, aggregation: str = "midpoint", double: bool = False
) -> Tensor:
    r"""Sums over neighbours in curved space, on tangent vectors: (N, D) → (M, D). κ = 0: A·V.

    ``"midpoint"``: the paper's κ-left-multiplication A ⊠ X (eq. 8). Row i is (Σ_j A_ij) · ½ρ_i N_i/|N_i| with
    [N | h] = A · lift(V): one sparse product of one column more for each factor. Weights may have either sign: −A gives
    the opposite of A, and a row that sums to 0 the origin (κ ≠ 0). Where κ < 0 and a sum of lifts does not point into
    the space, h ≤ √−κ|N| for a positive row sum, `kappagcn.geometry.midpoint` has no point and raises; here the row
    counts as the farthest point in the direction of N that float64 resolves, 17.7/√−κ from the origin, and its
    derivatives are that point's. Sums of positive weights are capped there too.

    ``"tangential"``: in the tangent space at the origin (Chami et al. 2019), which is A·V whatever κ.

    ``"tangential-node"``: in the tangent space at the node itself, exp_x(Σ_j A_ij log_x(x_j)), x = x_i; for κ = 0 that
    is A·V where rows of A sum to 1, so give it row normalisation.

    ``"frechet"``: the Fréchet mean of the neighbours, times the row's sum like the midpoint. A much slower search,
    which takes no negative weights.

    Float32 rows give float32's digits however far out they lie: what would lose them, aggregation at the node, Fréchet
    means and midpoints if one lies farther than 2.2/√−κ from the origin, is computed in float64 inside, with its
    gradients. Under `torch.compile`, which cannot look at values, midpoints stay in float32 unless `double` is set.

    Args:
        v: Tangent vectors at the origin, (N, D).
        adjacency: A, (M, N).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        aggregation: One of the above.
        double: Compute all rows in float64 whatever the dtype.

    >>> from kappagcn import Stereographic
    >>> from kappagcn.nn import normalized_adjacency
    >>> pair = normalized_adjacency(torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    >>> aggregate(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), pair, Stereographic(-1.0))  # both rows: half way between
    tensor([[0.5000, 0.0000],
            [0.5000, 0.0000]])
    """
    if aggregation not in AGGREGATIONS:
        raise GraphError(f"expected aggregation {', '.join(AGGREGATIONS)}, found {aggregation!r}.")
    if is_lowered(v):
        with without_autocast(v):
            return aggregate(at_least_single(v), adjacency, manifold, aggregation=aggregation, double=double).to(
                v.dtype
            )
    k, dims = factors_of(v, manifold)
    if aggregation == "midpoint":
        return midpoints(v, adjacency.to(v.dtype), k, dims, double=double)
    if aggregation == "tangential":
        dtype = torch.float64 if double else v.dtype
        return adjacency.to(dtype).product(v.to(dtype)).to(v.dtype)
    in_space = tangential_at_nodes if aggregation == "tangential-node" else frechet
    parts = zip(v.split(dims, -1), k.unbind(), strict=True)
    return torch.cat([in_space(part, adjacency, kappa) for part, kappa in parts], -1)


def factors_of(v: Tensor, manifold: Manifold) -> tuple[Tensor, list[int]]:
    """Curvatures (F,) and dimensions of the factors, which must fit v's columns."""
    if isinstance(manifold, ProductManifold):
        manifold.split(v)
        return manifold.k, manifold.dims
    if manifold.dim is not None and manifold.dim != v.shape[-1]:
        raise GraphError(f"expected {manifold.dim} columns, as the space has dimensions, found {v.shape[-1]}.")
    return manifold.k.reshape(1), [v.shape[-1]]


def capped_rows(v: Tensor, adjacency: SparseMatrix, manifold: Manifold) -> int:
    """Number of rows farther out than float64 resolves (κ < 0), before and after the product: midpoints cap them.

    >>> from kappagcn import Stereographic
    >>> from kappagcn.nn import normalized_adjacency
    >>> pair = normalized_adjacency(torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    >>> capped_rows(torch.tensor([[30.0, 0.0], [30.0, 0.0]]), pair, Stereographic(-1.0))
    2
    """
    k, dims = factors_of(v, manifold)
    return count_edge_rows(v, adjacency, k, dims)


def logits(v: Tensor, p: Tensor, a: Tensor, manifold: Manifold) -> Tensor:
    r"""κ-logits (eq. 12) of C classes from tangent vectors: (N, D), (C, D), (C, D) → (N, C). κ = 0: 4⟨a, v − p⟩.

    λ_p|a| times the signed distance to the hyperplane through exp_0(p) with normal a; over a product, the sum of the
    factors' logits. With the lift (P, H) of p the plane's normal in ambient coordinates, times |a|, is

        n = (a − κ⟨P, a⟩P/λ, −⟨P, a⟩),    λ = H + 1,

    so all logits are one product of matrices and one arsin_κ, and p may lie anywhere: there is no ball to leave.

    Args:
        v: Tangent vectors at the origin of the points, (N, D).
        p: Tangent vectors at the origin of a point on each class's hyperplane, (C, D).
        a: Normals of the hyperplanes, (C, D).
        manifold: A space, or a product of spaces whose dimensions sum to D.

    >>> from kappagcn import Stereographic
    >>> logits(torch.tensor([[0.3, 0.0]]), torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]), Stereographic(0.0))
    tensor([[1.2000]])
    """
    if is_lowered(v):
        with without_autocast(v):
            return logits(at_least_single(v), at_least_single(p), at_least_single(a), manifold).to(v.dtype)
    k, dims = factors_of(v, manifold)
    if p.shape != a.shape or p.dim() != 2 or p.shape[1] != v.shape[-1]:
        raise GraphError(f"expected p and a as (C, {v.shape[-1]}), found {tuple(p.shape)} and {tuple(a.shape)}.")
    return hyperplane_logits(v, p.to(v.dtype), a.to(v.dtype), k.to(v.dtype), dims)


def pool(
    v: Tensor,
    batch: Tensor | None,
    manifold: Manifold,
    *,
    num_graphs: int | None = None,
    weight: Tensor | None = None,
    double: bool = False,
) -> Tensor:
    """One gyromidpoint for each graph of a batch: (N, D) → (G, D). κ = 0: PyG's ``global_mean_pool``.

    Args:
        v: Tangent vectors at the origin, (N, D).
        batch: Graph of each node, (N,); None for one graph.
        manifold: A space, or a product.
        num_graphs: G; by default one more than the largest of `batch`. A graph without nodes gets the origin.
        weight: Weight of each node within its graph, (N,), non-negative; equal by default.
        double: As in `aggregate`.

    >>> from kappagcn import Stereographic
    >>> pool(torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.3, 0.4]]), torch.tensor([0, 0, 1]), Stereographic(-1.0))
    tensor([[0.5000, 0.0000],
            [0.3000, 0.4000]])
    """
    nodes = torch.arange(v.shape[0], device=v.device)
    if batch is None:
        batch, num_graphs = torch.zeros_like(nodes), 1
    if batch.shape != (v.shape[0],):
        raise GraphError(f"expected one graph number per node ({v.shape[0]}), found shape {tuple(batch.shape)}.")
    if num_graphs is None:
        num_graphs = int(batch.max()) + 1 if batch.numel() else 0
    if batch.is_floating_point() or (weight is not None and weight.shape != batch.shape):
        raise GraphError("expected graph numbers as integers and one weight per node, found otherwise.")
    if is_cheap_to_read(batch) and batch.numel() and not 0 <= int(batch.min()) <= int(batch.max()) < num_graphs:
        raise GraphError(f"expected graphs 0 to {num_graphs - 1}, found {int(batch.min())} to {int(batch.max())}.")
    dtype = at_least_single(v).dtype  # half precision does not count to 300
    share = torch.ones(v.shape[0], dtype=dtype, device=v.device) if weight is None else weight.to(dtype)
    total = share.new_zeros(num_graphs).index_add(0, batch, share)
    share = share / total.masked_fill(total == 0, 1)[batch]
    return aggregate(v, SparseMatrix(batch, nodes, share, (num_graphs, v.shape[0])), manifold, double=double)
