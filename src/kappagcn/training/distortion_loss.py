r"""Average distortion over all pairs of nodes, as one differentiable operation on tangent vectors at the origin.

    (1/n²) Σ_{i≠j} ((d(x_i, x_j)/d_G(i, j))² − 1)²

Value and gradients come from one pass over the pairs, so nothing of size N × N is kept between them: compiled where
numba is installed and points are on the CPU, else by torch in blocks of rows.

From the distances of some nodes, drawn evenly, the same is estimated without bias: the value by the mean of their
rows, and the gradient of each point by the pulls of those nodes on it, twice, for pairs count both ways. So every
point of a large graph moves in every step, by as many pulls as any other. Near pairs can be taken exactly beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.geometry import tangent_dist
from kappagcn.graphs import shortest_paths
from kappagcn.kernels.dispatch import compiled, first_order
from kappagcn.nn.functional import Manifold, factors_of
from kappagcn.training.near_pairs import NearPairs

__all__ = ["Distortion", "GraphDistances", "distances_from", "distortion", "measure"]

BLOCK = 2**20  # numbers of a block's largest tensor, by torch
BYTES_OF_PAIR, LARGEST = 12, 16 * 2**30  # while weights are made; what all pairs may take
LONGEST_TABLE = 2**16
MEASURED = 2**23  # distances at once where no gradients are asked for


class GraphDistances:
    """Lengths of shortest paths in the form that the loss takes.

    Args:
        lengths: (N, N), symmetric, 0 on the diagonal; negative or infinite where there is no path. With sources (S, N).
        sources: The nodes whose distances these are, drawn evenly, (S,); None for all.
        near: Pairs that are known beside those of the sources, and not taken from them.

    Attributes:
        weights: 1/d², float32, (N, N) or (S, N), and 0 for pairs that do not count.
        sources: As given.
        pairs: Ordered pairs i ≠ j that count.
        unreachable_pairs: Ordered pairs i ≠ j without a path.
        longest: The largest distance; 0 where there is none.

    >>> from kappagcn.graphs import path
    >>> GraphDistances.of(path(3)).weights.tolist()
    [[0.0, 1.0, 0.25], [1.0, 0.0, 1.0], [0.25, 1.0, 0.0]]
    """

    def __init__(self, lengths: Tensor, sources: Tensor | None = None, near: NearPairs | None = None) -> None:
        if near is not None and sources is None:
            raise GraphError("near: expected sources that they are beside, found all pairs.")
        rows = lengths.shape[-1] if sources is None else len(sources)
        if lengths.dim() != 2 or lengths.shape[0] != rows:
            raise GraphError(f"expected distances ({'N' if sources is None else rows}, N), found {_shape(lengths)}.")
        places = torch.arange(rows)
        diagonal = places, places if sources is None else sources
        if int((lengths == 0).sum()) > int((lengths[diagonal] == 0).sum()):
            raise GraphError("expected distances above 0 between different nodes, found 0.")
        self.sources, self.near, self.weights = sources, near, _weights(lengths)
        self.weights[diagonal] = 0
        if sources is None and not torch.equal(self.weights, self.weights.T):
            raise GraphError("expected the same distance both ways, found others: the graph is undirected.")
        self.pairs = int((self.weights > 0).sum())
        self.unreachable_pairs = rows * (lengths.shape[1] - 1) - self.pairs
        counted = torch.where(torch.isfinite(lengths), lengths, 0) if lengths.is_floating_point() else lengths
        self.longest = max(float(counted.max()), 0.0) if self.pairs else 0.0
        if near is not None and sources is not None:
            self.weights[near.entries(sources)] = 0

    @classmethod
    def of(
        cls,
        data: Data,
        sources: Sequence[int] | Tensor | None = None,
        near: NearPairs | None = None,
        **options: Any,
    ) -> GraphDistances:
        """Of a graph, by `kappagcn.graphs.shortest_paths` and its options: from all nodes, or from some."""
        if sources is None:
            if BYTES_OF_PAIR * data.num_nodes**2 > LARGEST:
                raise GraphError(
                    f"expected a graph whose pairs fit into memory, found {data.num_nodes:,} nodes. Take the distances "
                    "of some sources instead."
                )
            return cls(shortest_paths(data, **options), near=near)
        starts = torch.as_tensor(sources)
        return cls(shortest_paths(data, starts, **options), starts, near)

    def __len__(self) -> int:
        return self.weights.shape[1]


def _weights(lengths: Tensor) -> Tensor:
    """1/d² in float32, 0 where there is no path."""
    longest = int(lengths.max()) if lengths.numel() and not lengths.is_floating_point() else 0
    if lengths.is_floating_point() or longest > LONGEST_TABLE:
        counted = (lengths > 0) & torch.isfinite(lengths)
        return torch.where(counted, torch.where(counted, lengths, 1).double().pow(-2), 0).float()
    steps = torch.arange(1, max(longest, 0) + 1).double()
    table = torch.cat([torch.zeros(2, dtype=torch.float64), steps.pow(-2)]).float()  # for −1, 0, 1 …
    return torch.from_numpy(table.numpy()[np.add(lengths.clamp(min=-1).numpy(), 1, dtype=np.int32)])


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)


class Distortion(NamedTuple):
    """How well distances in the space follow those in the graph.

    Attributes:
        distortion: Average distortion, or its estimate from sampled pairs.
        worst_distortion: Largest d/d_G over the smallest, of all pairs that were measured.
        unreachable_pairs: Ordered pairs without a path, which do not count.
        distortion_std_error: Standard error of an average over sampled sources; 0 over all pairs.

    >>> Distortion(distortion=0.02, worst_distortion=1.5, unreachable_pairs=0)
    Distortion(distortion=0.02, worst_distortion=1.5, unreachable_pairs=0, distortion_std_error=0.0)
    """

    distortion: float
    worst_distortion: float
    unreachable_pairs: int
    distortion_std_error: float = 0.0


def distortion(v: Tensor, manifold: Manifold, distances: GraphDistances) -> Tensor:
    """The average distortion of points exp_0(v), differentiable in v and in the curvatures of the space: (N, D) → ().

    Args:
        v: Tangent vectors at the origin, (N, D).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        distances: Of the graph.

    >>> from kappagcn import ProductManifold
    >>> from kappagcn.graphs import path
    >>> v = torch.tensor([[-0.5], [0.0], [0.5]], requires_grad=True)
    >>> round(float(distortion(v, ProductManifold.from_signature("E1"), GraphDistances.of(path(3))).detach()), 6)
    0.0
    """
    k, dims = _checked(v, manifold, distances)
    loss: Tensor = _Pairs.apply(v, k, dims, distances)
    return loss


@torch.no_grad()
def distances_from(v: Tensor, manifold: Manifold, sources: Sequence[int] | Tensor) -> Tensor:
    """Distances of some points from all points exp_0(v), float64: (N, D) → (S, N).

    Args:
        v: Tangent vectors at the origin, (N, D).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        sources: Which points, (S,).

    >>> from kappagcn import ProductManifold
    >>> v = torch.tensor([[-0.5], [0.0], [0.5]])
    >>> distances_from(v, ProductManifold.from_signature("H1"), [0]).round(decimals=6)
    tensor([[0., 1., 2.]], dtype=torch.float64)
    """
    k, dims = factors_of(v, manifold)
    starts = torch.as_tensor(sources)
    if starts.dim() != 1 or starts.is_floating_point() or starts.dtype == torch.bool:
        raise GraphError(f"sources: expected numbers of nodes, found {starts.dtype} of shape {_shape(starts)}.")
    if len(starts) and not 0 <= int(starts.min()) <= int(starts.max()) < len(v):
        raise GraphError(f"sources: expected nodes from 0 to {len(v) - 1}, found others.")
    kernels, rows = compiled("pairs"), _rows(v, k, dims)
    if kernels is not None and rows is not None:
        return torch.from_numpy(kernels.distances_from(rows, starts.numpy()))
    squares = torch.cat([_squares(v.double(), k.double(), dims, some) for some in starts.split(_height(v))])
    return squares.sqrt()


@torch.no_grad()
def measure(v: Tensor, manifold: Manifold, distances: GraphDistances) -> Distortion:
    """Average and worst-case distortion, over all pairs or those with some sources.

    >>> from kappagcn.geometry import ProductManifold
    >>> from kappagcn.graphs import cycle
    >>> space, distances = ProductManifold.from_signature("E2"), GraphDistances.of(cycle(4))
    >>> square = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(measure(square / 2, space, distances).worst_distortion, 3)  # sides are √2 too long
    1.414
    """
    k, dims = _checked(v, manifold, distances)
    if distances.near is not None:
        raise GraphError("expected distances of all pairs or of sources to measure, found near pairs beside them.")
    if distances.sources is None:
        (total, least, most), *_ = _sums(v, k, dims, distances, _rows(v, k, dims), slopes=False)
        return Distortion(
            2 * total / max(len(v), 1) ** 2, _spread(least, most, distances.pairs), distances.unreachable_pairs, 0.0
        )
    rows, least, most = [], float("inf"), 0.0
    for places in torch.arange(len(distances.sources)).split(max(1, MEASURED // max(1, len(v)))):
        weights = distances.weights[places].to(v.device)
        ratio = distances_from(v, manifold, distances.sources[places]).square() * weights
        rows.append(torch.where(weights > 0, ratio - 1, 0).square().mean(1))
        counted = ratio[weights > 0]
        if len(counted):
            least, most = min(least, float(counted.min())), max(most, float(counted.max()))
    averages = torch.cat(rows) if rows else torch.zeros(0)
    error = float(averages.std() / len(averages) ** 0.5) if len(averages) > 1 else float("nan")
    return Distortion(float(averages.mean()), _spread(least, most, distances.pairs), distances.unreachable_pairs, error)


def _spread(least: float, most: float, pairs: int) -> float:
    return float((most / least) ** 0.5) if 0 < least <= most else float("inf" if pairs else "nan")


def _checked(v: Tensor, manifold: Manifold, distances: GraphDistances) -> tuple[Tensor, list[int]]:
    if v.dim() != 2 or len(v) != len(distances):
        raise GraphError(f"expected {len(distances)} points, one for each node, found {_shape(v)}.")
    return factors_of(v, manifold)


class _Pairs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor, dims: list[int], distances: GraphDistances) -> Tensor:
        slopes = any(ctx.needs_input_grad[:2])
        rows = _rows(v, k, dims)
        (total, *_), by_v, by_k = _sums(v, k, dims, distances, rows, slopes=slopes)
        ordered = 1 / max(1, len(v) * len(distances.weights))
        counted = 2 * ordered if distances.sources is None else ordered  # all pairs are summed once
        total, by_v, by_k = counted * total, 2 * ordered * by_v, counted * by_k
        if distances.near is not None:
            both_ways = 2 / len(v) ** 2
            near_total, own_v, own_k = _near(v, k, dims, distances.near, rows)
            total += both_ways * near_total
            if slopes:
                by_v, by_k = by_v + both_ways * own_v, by_k + both_ways * own_k
        if slopes:
            ctx.save_for_backward(by_v.to(v.dtype), by_k.to(k.dtype))
        return v.new_tensor(total)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        by_v, by_k = ctx.saved_tensors
        return grad * by_v, grad * by_k, None, None


def _rows(v: Tensor, k: Tensor, dims: list[int]) -> Any:
    """The points as compiled pairs take them; None where torch alone is to do it."""
    kernels = compiled("pairs", v)
    if kernels is None:
        return None
    return kernels.Rows(v.detach().numpy(), np.cumsum([0, *dims]), k.detach().double().numpy())


def _sums(
    v: Tensor, k: Tensor, dims: list[int], distances: GraphDistances, rows: Any, *, slopes: bool
) -> tuple[tuple[float, float, float], Tensor, Tensor]:
    """Σ(d²w − 1)², least and largest d²w over unordered pairs, or pairs with sources; gradients by v and κ."""
    kernels = compiled("pairs")
    if kernels is None or rows is None:
        return _by_torch(v, k, dims, distances, slopes=slopes)
    sources = None if distances.sources is None else distances.sources.numpy()
    sums, by_v, by_k = kernels.all_pairs(rows, distances.weights.numpy(), sources, slopes=slopes)
    return tuple(sums.tolist()), torch.from_numpy(by_v), torch.from_numpy(by_k)


def _near(v: Tensor, k: Tensor, dims: list[int], near: NearPairs, rows: Any) -> tuple[float, Tensor, Tensor]:
    """Σ(d²w − 1)² over unordered pairs of a list, and its gradients by v and κ."""
    kernels = compiled("pairs")
    if kernels is not None and rows is not None:
        places, others, weights = near.places.numpy(), near.others.numpy(), near.weights.numpy()
        total, by_v, by_k = kernels.listed_pairs(rows, places, others, weights)
        return total, torch.from_numpy(by_v), torch.from_numpy(by_k)
    v, k = v.detach().double().requires_grad_(), k.detach().double().requires_grad_()
    sums, by_v, by_k = 0.0, torch.zeros_like(v), torch.zeros_like(k)
    firsts = torch.repeat_interleave(torch.arange(len(v)), near.places.diff())
    for some in torch.arange(len(near.others)).split(max(1, BLOCK // max(1, v.shape[1]))):
        with torch.enable_grad():
            ends = v[firsts[some]], v[near.others[some]]
            parts = zip(*(x.split(dims, 1) for x in ends), k.unbind(), strict=True)
            squares = sum((tangent_dist(x, y, k=kappa) ** 2 for x, y, kappa in parts), start=v.new_zeros(()))
            loss = (squares * near.weights[some].to(v) - 1).square().sum() / 2
        own_v, own_k = torch.autograd.grad(loss, (v, k))
        sums, by_v, by_k = sums + float(loss.detach()), by_v + own_v, by_k + own_k
    return sums, by_v, by_k


def _height(v: Tensor) -> int:
    """Rows of a block by torch."""
    return max(1, BLOCK // max(1, v.numel()))


def _squares(v: Tensor, k: Tensor, dims: list[int], rows: Tensor, *, fixed: bool = False) -> Tensor:
    """d² of some points from all, (S, N); `fixed`: without gradients by those points."""
    some = v[rows].detach() if fixed else v[rows]
    parts = zip(some.split(dims, 1), v.split(dims, 1), k.unbind(), strict=True)
    squares: Tensor = sum(
        (tangent_dist(x[:, None], y[None], k=kappa) ** 2 for x, y, kappa in parts), start=v.new_zeros(())
    )
    return squares


def _by_torch(
    v: Tensor, k: Tensor, dims: list[int], distances: GraphDistances, *, slopes: bool
) -> tuple[tuple[float, float, float], Tensor, Tensor]:
    """The same in blocks of rows, each with its own small graph of derivatives."""
    v, k = v.detach().double().requires_grad_(slopes), k.detach().double().requires_grad_(slopes)
    total, least, most = 0.0, float("inf"), 0.0
    by_v, by_k = torch.zeros_like(v), torch.zeros_like(k)
    once, weights, sources = False, distances.weights.to(v.device), distances.sources
    if sources is None:
        once, weights, sources = True, weights.triu(1), torch.arange(len(v))
    for places in torch.arange(len(sources)).split(_height(v)):
        w = weights[places].double()
        with torch.set_grad_enabled(slopes):
            ratio = _squares(v, k, dims, sources[places], fixed=not once) * w
            loss = torch.where(w > 0, ratio - 1, 0).square().sum()
        if slopes:
            own_v, own_k = torch.autograd.grad(loss, (v, k))
            by_v, by_k = by_v + own_v, by_k + own_k
        total += float(loss.detach())
        counted = ratio.detach()[w > 0]
        if len(counted):
            least, most = min(least, float(counted.min())), max(most, float(counted.max()))
    return (total, least, most), by_v, by_k
