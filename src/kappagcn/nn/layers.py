"""Layers on tangent vectors at the origin, V = log_0(H), that need no graph, and their mathematics as functions.

The paper's exp_0 and log_0 cancel between the steps of a layer (geometry, "ambient"), so a κ-GCN layer is

    V' = σ(lower(Â · lift(V W))),

without a ball and without a boundary; at κ = 0 it is GCN's, to the last digit. In these coordinates the right product
X ⊗ W is V W, and the Möbius version of a pointwise function σ is σ(V).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot, zeros

from kappagcn.errors import GraphError
from kappagcn.geometry.manifold import Manifold
from kappagcn.geometry.numerics import ROW_EXPONENT, ROW_LEAST_LAMBDA
from kappagcn.geometry.vectors import dot, matmul, norm
from kappagcn.kernels.arcs import arsin_rows
from kappagcn.kernels.rows import lift_rows
from kappagcn.nn.aggregation import aggregate
from kappagcn.nn.inputs import Features, Space, as_manifold, check_rows, factors_of
from kappagcn.nn.precision import at_least_single, is_lowered, without_autocast
from kappagcn.nn.prepared import as_features
from kappagcn.sparse import SparseMatrix
from kappagcn.tracing import is_cheap_to_read


def linear(x: Tensor | SparseMatrix, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """κ-right-multiplication (eq. 7) on tangent vectors: log_0(X ⊗ W) = V W, (N, D) and (D, E) → (N, E), plus b.

    The bias is a tangent vector at the origin too. Sparse x stays sparse.

    >>> linear(torch.ones(1, 2), torch.eye(2), torch.tensor([0.5, 0.0]))
    tensor([[1.5000, 1.0000]])
    """
    product = x.product(weight) if isinstance(x, SparseMatrix) else x @ weight
    return product if bias is None else product + bias


class KappaLinear(nn.Linear):
    r"""κ-right-multiplication, X ⊗ W = exp_0(log_0(X) W + b) (eq. 7), which on tangent vectors is V W + b.

    It does not depend on the curvature, so one layer serves every space and every product: ``torch.nn.Linear`` that
    takes sparse rows too.

    Args:
        in_channels: Columns of the input.
        out_channels: Columns of the result.
        bias: Whether to add a tangent vector b.
        dropconnect: Probability for each entry of W to be left out in a training step.

    >>> KappaLinear(3, 2)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    weight: nn.Parameter

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True, dropconnect: float = 0.0) -> None:
        super().__init__(in_channels, out_channels, bias)
        self.in_channels, self.out_channels, self.dropconnect = in_channels, out_channels, dropconnect

    def reset_parameters(self) -> None:
        """Initialise the weights."""
        glorot(self.weight)
        zeros(self.bias)

    def forward(self, x: Features) -> Tensor:
        """(N, in_channels) → (N, out_channels)."""
        check_rows(x, self.in_features, self.weight.dtype)
        weight = nn.functional.dropout(self.weight, self.dropconnect, self.training)
        return linear(as_features(x), weight.t(), self.bias)


class KappaActivation(nn.Module):
    """The Möbius version σ^⊗(x) = exp_0(σ(log_0 x)) of a pointwise function: on tangent vectors, σ itself.

    Args:
        function: σ, such as ``torch.relu``.

    >>> KappaActivation(torch.relu)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, function: Callable[[Tensor], Tensor] = torch.relu) -> None:
        super().__init__()
        self.function = function

    def forward(self, v: Tensor) -> Tensor:
        """σ(v)."""
        return self.function(v)

    def extra_repr(self) -> str:
        """Name of σ."""
        return str(getattr(self.function, "__name__", self.function))


class KappaDropout(nn.Dropout):
    """Dropout in the tangent space at the origin; a sparse matrix loses entries and stays sparse.

    Args:
        p: Probability of an entry to be set to 0; the others are divided by 1 − p.

    >>> KappaDropout(0.5).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, x: Features) -> Features:  # type: ignore[override]
        """x in evaluation mode; in training x with entries set to 0."""
        if isinstance(x, SparseMatrix):
            return x.dropout(self.p) if self.training else x
        dropped: Tensor = super().forward(x)
        return dropped


def logits(v: Tensor, p: Tensor, a: Tensor, manifold: Manifold) -> Tensor:
    r"""κ-logits (eq. 12) of C classes from tangent vectors: (N, D), (C, D), (C, D) → (N, C). κ = 0: 4⟨a, v − p⟩.

    λ_p|a| times the signed distance to the hyperplane through exp_0(p) with normal a; over a product, the sum of the
    factors' logits. With the lift (P, H) of p the plane's normal in ambient coordinates, times |a|, is

        n = (a − κ⟨P, a⟩P/λ, −⟨P, a⟩),    λ = H + 1,

    so all logits are one product of matrices and one arsin_κ, and any p is allowed: there is no ball to leave.

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


def hyperplane_logits(v: Tensor, p: Tensor, a: Tensor, k: Tensor, dims: list[int]) -> Tensor:
    """κ-logits summed over factors of dimensions `dims` and curvatures k: (N, D), (C, D), (C, D), (F,) → (N, C)."""
    parts = zip(v.split(dims, -1), p.split(dims, -1), a.split(dims, -1), k.unbind(), strict=True)
    return torch.stack([_logits_in_one_space(*part) for part in parts]).sum(0)


def _logits_in_one_space(v: Tensor, p: Tensor, a: Tensor, k: Tensor) -> Tensor:
    """κ-logits in one space; what belongs to a class is computed in float64."""
    dtype, a, kappa = v.dtype, a.double(), k.double()
    on_plane = lift_rows(p.to(torch.float64, copy=True), kappa, limit=ROW_EXPONENT[dtype])
    point, height = on_plane.split([v.shape[-1], 1], -1)
    factor = (height + 1).clamp(min=ROW_LEAST_LAMBDA)
    offset, length = dot(point, a), norm(a)
    length = torch.where(length == 0, 1, length)
    normal = torch.cat((a - kappa * offset / factor * point, -offset), -1) / length
    distances = arsin_rows(matmul(lift_rows(v, k), normal.to(dtype).t()), k)
    logits: Tensor = distances * (factor * length).to(dtype).t()
    return logits


class KappaLogits(nn.Module):
    """κ-logits (eq. 12): signed distances to a trained hyperplane for each class, summed over the factors of a product.

    The points on the hyperplanes are kept as tangent vectors p, so that they stay in the space when κ changes. At
    κ = 0 the layer is linear, 4⟨a, v − p⟩; the normals start at a quarter of a linear layer's weights.

    With `bias` all hyperplanes go through the origin, the logits are divided by 4, and a trained number for each
    class is added: at κ = 0 the layer is ⟨a, v⟩ + b, with the initial weights and the gradients of a linear layer.

    Args:
        in_channels: D, the dimension of the space.
        num_classes: Number of classes C.
        manifold: The space, or product, of the points; a signature or a number as in `KappaGCNConv`.
        bias: Whether classes have a bias in place of a point on their hyperplane.
        dropconnect: Probability for each entry of the normals to be left out in a training step.

    >>> from kappagcn.geometry import Stereographic
    >>> KappaLogits(2, 3, Stereographic(-1.0))(torch.ones(5, 2)).shape
    torch.Size([5, 3])
    """

    def __init__(
        self, in_channels: int, num_classes: int, manifold: Space, *, bias: bool = False, dropconnect: float = 0.0
    ) -> None:
        super().__init__()
        if num_classes < 1:
            raise GraphError(f"expected at least one class, found {num_classes}.")
        self.manifold, self.dropconnect = as_manifold(manifold, in_channels), dropconnect
        self.normals = nn.Parameter(torch.empty(num_classes, in_channels))
        self.points = None if bias else nn.Parameter(torch.empty(num_classes, in_channels))
        self.bias = nn.Parameter(torch.empty(num_classes)) if bias else None
        self._reset_weights()

    def reset_parameters(self) -> None:
        """Initialise the weights, with all hyperplanes through the origin; curvatures get their initial values."""
        self.manifold.reset_parameters()
        self._reset_weights()

    def _reset_weights(self) -> None:
        glorot(self.normals)
        if self.points is not None:
            self.normals.data /= 4
        zeros(self.points)
        zeros(self.bias)

    def forward(self, v: Tensor) -> Tensor:
        """(N, D) → (N, C)."""
        signed = self.distances(v)
        return signed if self.bias is None else signed + self.bias

    def distances(self, v: Tensor) -> Tensor:
        """The logits without bias, (N, D) → (N, C)."""
        check_rows(v, self.normals.shape[1], self.normals.dtype)
        normals = nn.functional.dropout(self.normals, self.dropconnect, self.training)
        if self.points is None:
            return logits(v, torch.zeros_like(normals), normals / 4, self.manifold)
        return logits(v, self.points, normals, self.manifold)

    def extra_repr(self) -> str:
        """Numbers of columns and classes."""
        return f"{self.normals.shape[1]}, {self.normals.shape[0]}" + ("" if self.bias is None else ", bias=True")


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
    if batch.is_floating_point():
        raise GraphError(f"expected graph numbers as integers, found {batch.dtype}.")
    if weight is not None and weight.shape != batch.shape:
        raise GraphError(f"expected one weight per node ({v.shape[0]}), found shape {tuple(weight.shape)}.")
    if is_cheap_to_read(batch) and batch.numel() and not 0 <= int(batch.min()) <= int(batch.max()) < num_graphs:
        raise GraphError(f"expected graphs 0 to {num_graphs - 1}, found {int(batch.min())} to {int(batch.max())}.")
    dtype = at_least_single(v).dtype  # half precision cannot represent the number of nodes
    share = torch.ones(v.shape[0], dtype=dtype, device=v.device) if weight is None else weight.to(dtype)
    total = share.new_zeros(num_graphs).index_add(0, batch, share)
    share = share / total.masked_fill(total == 0, 1)[batch]
    return aggregate(v, SparseMatrix(batch, nodes, share, (num_graphs, v.shape[0])), manifold, double=double)


class KappaPool(nn.Module):
    """Readout of whole graphs: the gyromidpoint of each graph's nodes. κ = 0: ``global_mean_pool``.

    Args:
        manifold: The space, or product, of the nodes; a signature or a number as in `KappaGCNConv`.
        double: Compute in float64, for nodes far from the origin.

    >>> from kappagcn.geometry import Stereographic
    >>> KappaPool(Stereographic(-1.0))(torch.ones(4, 2), torch.tensor([0, 0, 1, 1])).shape
    torch.Size([2, 2])
    """

    def __init__(self, manifold: Space, *, double: bool = False) -> None:
        super().__init__()
        self.manifold, self.double_precision = as_manifold(manifold, None), double

    def forward(self, v: Tensor, batch: Tensor | None = None, size: int | None = None) -> Tensor:
        """(N, D) and the graph of each node → (G, D)."""
        return pool(v, batch, self.manifold, num_graphs=size, double=self.double_precision)
