"""Aggregation of neighbours in curved space, on tangent vectors at the origin, by name.

A new aggregation has its name here, and its mathematics in `midpoints` (one sparse product for all rows) or in the
module `neighbourhoods` (each neighbourhood separately).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.geometry.manifold import Manifold
from kappagcn.geometry.numerics import ROW_FAR_TANGENT
from kappagcn.kernels.dispatch import runs_loops
from kappagcn.kernels.midpoints import midpoint_rows, precision
from kappagcn.kernels.rows import lift_rows, lower_by_torch
from kappagcn.nn.inputs import factors_of
from kappagcn.nn.midpoints import ambient_parts, count_edge_rows, midpoints_operation
from kappagcn.nn.neighbourhoods import frechet, tangential_at_nodes
from kappagcn.nn.precision import at_least_single, without_autocast
from kappagcn.sparse import Matrix, SparseMatrix
from kappagcn.tracing import is_autocast_on, is_cheap_to_read, is_compiled_for_cpu, is_slow_to_read

AGGREGATIONS = ("midpoint", "tangential", "tangential-node", "frechet")


def aggregate(
    v: Tensor,
    adjacency: Matrix,
    manifold: Manifold,
    *,
    aggregation: str = "midpoint",
    bias: Tensor | None = None,
    double: bool = False,
) -> Tensor:
    r"""Sums over neighbours in curved space, on tangent vectors: (N, D) → (M, D). κ = 0: A·V.

    ``"midpoint"``: the paper's κ-left-multiplication A ⊠ X (eq. 8). Row i is (Σ_j A_ij) · ½ρ_i N_i/|N_i| with
    [N | h] = A · lift(V): one sparse product, with an additional column for each factor. Weights may have either sign:
    −A gives the opposite of A, and a row that sums to 0 the origin (κ ≠ 0). If κ < 0 and a sum of lifts does not point
    into the space, h ≤ √−κ|N| for a positive row sum, there is no midpoint, and `kappagcn.geometry.midpoint` raises an
    error; here the row is replaced by the farthest point in the direction of N that float64 resolves, 17.7/√−κ from the
    origin, and gets its derivatives. Sums of positive weights are capped at that distance too.

    ``"tangential"``: the sum in the tangent space at the origin (Chami et al. 2019), which is A·V for every κ.

    ``"tangential-node"``: the sum in the tangent space at the node itself, exp_x(Σ_j A_ij log_x(x_j)), x = x_i; for
    κ = 0 that is A·V if the rows of A sum to 1, so use row normalisation.

    ``"frechet"``: the Fréchet mean of the neighbours, times the sum of the row as for the midpoint. It is a much
    slower search, and negative weights are not allowed.

    Results of float32 rows have the precision of float32 at any distance from the origin: aggregation at the node,
    Fréchet means, and midpoints of which one lies farther than 2.2/√−κ from the origin are computed in float64
    internally, with their gradients. Under `torch.compile`, where values cannot be read, midpoints stay in float32
    unless `double` is set or compiled loops compute them, which need numba and weights without a gradient; on devices
    other than the CPU, where reading a value would mean waiting, they are always computed in float64.

    Args:
        v: Tangent vectors at the origin, (N, D).
        adjacency: A, (M, N).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        aggregation: One of the names above.
        bias: Tangent vector at the origin that is added to every row, (D,).
        double: Whether to compute all rows in float64, for any dtype.

    >>> from kappagcn import Stereographic
    >>> from kappagcn.nn import normalized_adjacency
    >>> pair = normalized_adjacency(torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    >>> aggregate(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), pair, Stereographic(-1.0))  # both rows: half way between
    tensor([[0.5000, 0.0000],
            [0.5000, 0.0000]])
    """
    if aggregation not in AGGREGATIONS:
        raise GraphError(f"expected aggregation {', '.join(AGGREGATIONS)}, found {aggregation!r}.")
    if v.dtype not in (torch.float32, torch.float64) or is_autocast_on(v):
        with without_autocast(v):
            rows = aggregate(at_least_single(v), adjacency, manifold, aggregation=aggregation, double=double)
        return _shifted(rows.to(v.dtype), bias)
    k, dims = factors_of(v, manifold)
    if aggregation == "midpoint":
        return midpoints(v, adjacency, k, dims, bias=bias, double=double)
    if aggregation == "tangential":
        dtype = torch.float64 if double else v.dtype
        return _shifted(adjacency.to(dtype).product(v.to(dtype)).to(v.dtype), bias)
    if not isinstance(adjacency, SparseMatrix):
        raise GraphError(f"expected a SparseMatrix for aggregation {aggregation}, found {type(adjacency).__name__}.")
    in_space = tangential_at_nodes if aggregation == "tangential-node" else frechet
    parts = zip(v.split(dims, -1), k.unbind(), strict=True)
    return _shifted(torch.cat([in_space(part, adjacency, kappa) for part, kappa in parts], -1), bias)


def _shifted(rows: Tensor, bias: Tensor | None) -> Tensor:
    return rows if bias is None else rows + bias


def midpoints(
    v: Tensor,
    adjacency: Matrix,
    k: Tensor,
    dims: list[int],
    *,
    bias: Tensor | None = None,
    double: bool = False,
) -> Tensor:
    """log_0(A ⊠ exp_0(V)) + b with factor f of dimension dims[f] and curvature k[f], (N, D) → (M, D).

    Compiled loops take a matrix whose rows are in this process; a matrix that ranks share, other devices and transforms
    of ``torch.func`` take the steps of `_in_steps`.
    """
    adjacency.check(v)
    if double and v.dtype != torch.float64:
        rows = midpoints(v.double(), adjacency.to(torch.float64), k, dims).to(v.dtype)
    elif (
        type(adjacency) is SparseMatrix
        and runs_loops(v, k, adjacency.values)
        and (not adjacency.values.requires_grad or adjacency.is_non_negative())
    ):
        values = adjacency.values
        constant = adjacency.with_values(values.detach()) if values.requires_grad else adjacency
        matrices, entries = constant.prepared(precision(v, k)), (values, adjacency.rows, adjacency.cols)
        rows = midpoint_rows(v, k.double(), dims, entries, matrices, partial(_twin, dims=dims, adjacency=adjacency))
    elif type(adjacency) is SparseMatrix and is_compiled_for_cpu(v, k) and adjacency.is_local():
        matrix = adjacency.to(v.dtype)
        tensors = *matrix.csr(), *matrix.csr_transpose(), matrix.row_sums()
        rows = cast(Tensor, midpoints_operation(v, k.double(), dims, *tensors))
    else:
        rows = _in_steps(v, k, dims, adjacency)
    return rows if bias is None else rows + bias


def _twin(
    v: Tensor, k: Tensor, values: Tensor | None = None, *, dims: Sequence[int], adjacency: SparseMatrix
) -> Tensor:
    return _in_steps(v, k, dims, adjacency if values is None else adjacency.with_values(values))


def _in_steps(v: Tensor, k: Tensor, dims: Sequence[int], adjacency: Matrix, *, double: bool = False) -> Tensor:
    """Midpoints by a lift, a sparse product and a lowering of all rows in torch, in the dtype of the rows.

    If some row is far all is computed in float64, as by `kappagcn.kernels.midpoints`; on a device that is slow to read
    always, where Python cannot read values never.
    """
    if v.dtype != torch.float64 and (double or is_slow_to_read(v)):
        return _in_steps(v.double(), k, dims, adjacency.to(torch.float64)).to(v.dtype)
    adjacency = adjacency.to(v.dtype)
    weight, kappas = adjacency.row_sums(), k.double()
    lifted = lift_rows(v, kappas, dims)
    sums = adjacency.product(lifted)
    if v.dtype != torch.float64 and is_cheap_to_read(v, k):
        far = any_far(lifted, k, dims) or any_far(sums, k, dims, weight)
        if adjacency.any_rank(far):  # ranks that share a matrix go the same way
            return _in_steps(v, k, dims, adjacency, double=True)
    return lower_by_torch(sums, kappas, weight, dims)


@torch.no_grad()
def any_far(e: Tensor, k: Tensor, dims: Sequence[int], weight: Tensor | None = None) -> bool:
    """Whether some row lies so far out for κ < 0, or points out of the space, that rounding errors of a sum count.

    Args:
        e: Lifted rows, or sums of them, (N, D + F).
        k: Curvatures of the factors, (F,).
        dims: Dimensions of the factors.
        weight: Sums of the weights, (N,); None for lifted rows, which need no products.
    """
    least = (1 - ROW_FAR_TANGENT) ** -0.5  # height of a point whose tanh² is ROW_FAR_TANGENT
    for n, h, kappa in ambient_parts(e, k, dims):
        if kappa >= 0 or not len(e):
            continue
        if weight is None:
            far = not bool(h.max() < least)
        else:
            square, ahead = torch.linalg.vecdot(n, n), torch.where(weight < 0, -h, h).clamp(min=0)
            near = (-kappa * square < ROW_FAR_TANGENT * ahead.square()) | (square == 0)  # false on overflow
            far = not bool(near.all())
        if far:
            return True
    return False


def capped_rows(v: Tensor, adjacency: Matrix, manifold: Manifold) -> int:
    """Number of rows farther out than float64 resolves (κ < 0), before and after the product: midpoints cap them.

    >>> from kappagcn import Stereographic
    >>> from kappagcn.nn import normalized_adjacency
    >>> pair = normalized_adjacency(torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    >>> capped_rows(torch.tensor([[30.0, 0.0], [30.0, 0.0]]), pair, Stereographic(-1.0))
    2
    """
    k, dims = factors_of(v, manifold)
    return count_edge_rows(v, adjacency, k, dims)
