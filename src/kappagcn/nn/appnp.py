"""KappaAPPNP: personalised PageRank propagation in a space of constant curvature, in place of PyG's ``APPNP``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.nn.aggregation import aggregate
from kappagcn.nn.inputs import Adjacency, Space, as_manifold, check_rows
from kappagcn.nn.message_passing import NormalizedGraph
from kappagcn.nn.prepared import cached
from kappagcn.sparse import Matrix, SparseMatrix


class PageRank(Matrix):
    """The matrix of K steps Z ← (1 − α)·A·Z + α·Z⁽⁰⁾, which multiplies rows but is never stored.

    Args:
        steps: The matrix A, (N, N), of each step.
        alpha: Share α of the first rows in each step.

    >>> pair = SparseMatrix(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (2, 2))
    >>> PageRank([pair, pair], 0.5).product(torch.tensor([[1.0], [0.0]]))  # α + (1 − α)², α(1 − α)
    tensor([[0.7500],
            [0.2500]])
    """

    def __init__(self, steps: Sequence[Matrix], alpha: float) -> None:
        self.steps, self.alpha, self.shape = tuple(steps), alpha, steps[0].shape  # already checked

    @property
    def dtype(self) -> torch.dtype:
        """Floating-point type of the entries."""
        return self.steps[0].dtype

    @property
    def requires_grad(self) -> bool:
        """Whether the entries get a gradient."""
        return any(matrix.requires_grad for matrix in self.steps)

    def product(self, x: Tensor) -> Tensor:
        """The K steps from rows x, (N, D) → (N, D)."""
        z, first = x, self.alpha * x
        for matrix in self.steps:
            z = torch.add(first, matrix.product(z), alpha=1 - self.alpha)
        return z

    def to(self, *args: Any, **kwargs: Any) -> PageRank:
        """The matrix in another dtype or on another device; arguments are those of ``Tensor.to``."""
        return self._with([matrix.to(*args, **kwargs) for matrix in self.steps])

    def dropout(self, p: float) -> PageRank:
        """The matrix with each entry of A left out with probability p, drawn for each of the K steps."""
        return self._with([matrix.dropout(p) for matrix in self.steps])

    def _with(self, steps: list[Matrix]) -> PageRank:
        """The matrix of other steps; itself if they are the same."""
        is_same = all(one is other for one, other in zip(steps, self.steps, strict=True))
        return self if is_same else PageRank(steps, self.alpha)

    def row_sums(self) -> Tensor:
        """Sum of the weights of all nodes in each row, (N,), which takes K products; cached beside those of A."""
        sums = self.steps[0].row_sums()

        def total() -> Tensor:
            return self.product(torch.ones_like(sums).unsqueeze(1)).squeeze(1)

        if any(matrix is not self.steps[0] for matrix in self.steps):
            return total()
        return cached(sums, (len(self.steps), self.alpha), total)

    def is_non_negative(self) -> bool:
        """Whether no entry of the steps is below 0."""
        return all(matrix.is_non_negative() for matrix in dict.fromkeys(self.steps))

    def check(self, x: Tensor) -> None:
        """Refuse rows that cannot be multiplied by this matrix."""
        self.steps[0].check(x)

    def any_rank(self, condition: bool) -> bool:
        """Whether the condition holds on any rank that has rows of the matrix."""
        return self.steps[0].any_rank(condition)

    def mean_over_ranks(self, values: Tensor) -> Tensor:
        """The mean of one number for each node over the nodes of all ranks."""
        return self.steps[0].mean_over_ranks(values)


class KappaAPPNP(NormalizedGraph):
    r"""Personalised PageRank propagation (Gasteiger et al. 2019) by κ-midpoints.

    Step t takes the midpoint of a node's neighbours, with weight 1 − α, and of its own first point, with weight α:

        Z⁽ᵗ⁺¹⁾ = ((1 − α)Â, αI) ⊠ (Z⁽ᵗ⁾, Z⁽⁰⁾).

    In ambient coordinates all K steps are one matrix, so the layer lifts, multiplies K times with the sparse Â, and
    lowers once. Tangent vectors at the origin go in and come out; at κ = 0 it is PyG's ``APPNP``.

    Args:
        K: Number of steps.
        alpha: Share α of a node's own point in each step.
        manifold: The space of the points: a manifold, a signature such as ``"H8xS8"`` (curvatures trained) or a number
            (fixed). By default a new space with trained curvature that starts flat.
        dropout: Probability for each entry of Â to be left out in a step of training, drawn for each of the K steps.
        cached: Keep the normalised adjacency of the first call, for one graph that does not change.
        add_self_loops: As in ``APPNP``; by default True with a normalisation, False without.
        normalize: ``"symmetric"`` (True), ``"row"`` or ``"none"`` (False).
        double: Propagate in float64, for points that lie far out.

    Shapes: x (N, D); edge_index (2, E), a sparse tensor or a `SparseMatrix` (N, N), which is used as it is → (N, D).

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> KappaAPPNP(K=10, alpha=0.1, manifold=-1.0)(data.x, data.edge_index).shape
    torch.Size([1000, 10])
    """

    def __init__(
        self,
        K: int,
        alpha: float,
        manifold: Space = None,
        *,
        dropout: float = 0.0,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool | str = "symmetric",
        double: bool = False,
    ) -> None:
        super().__init__()
        if isinstance(K, bool) or not isinstance(K, int) or K < 1:
            raise GraphError(f"K: expected a number of steps from 1, found {K!r}.")
        if not 0 <= alpha <= 1 or not 0 <= dropout < 1:
            raise GraphError(f"expected alpha from 0 to 1 and dropout below 1, found {alpha} and {dropout}.")
        self.K, self.alpha, self.dropout = K, alpha, dropout
        self.cached, self.double_precision = cached, double
        self._set_normalization(normalize, add_self_loops)
        self.manifold = as_manifold(manifold, None)

    def reset_parameters(self) -> None:
        """Clear the cached adjacency; curvatures get their initial values."""
        self.manifold.reset_parameters()
        self._cached_edge_index = None

    def forward(self, x: Tensor, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """The propagated rows, (N, D) → (N, D)."""
        check_rows(x, None)
        adjacency = self.page_rank(self.adjacency(x, edge_index, edge_weight))
        return aggregate(x, adjacency, self.manifold, double=self.double_precision)

    def page_rank(self, adjacency: SparseMatrix) -> PageRank:
        """The K steps as one matrix, in training with entries left out."""
        steps = PageRank([adjacency] * self.K, self.alpha)
        return steps.dropout(self.dropout) if self.training else steps

    def extra_repr(self) -> str:
        """Number of steps and α."""
        return f"K={self.K}, alpha={self.alpha}"
