r"""Squared distances of listed pairs of points, such as the edges of a graph, from tangent vectors at the origin.

The κ-haversine of `kappagcn.geometry.tangent_dist`, with a = |u| and b = |v|,

    S = sin_κ²(d/2) = sin_κ²(a − b) + sinc(4κa²) sinc(4κb²) ab|û − v̂|²,    d² = 4 S arsinc(κS)²,

is analytic in S, so nothing is singular where points coincide. Numbers per node are computed once, in float64; the
rest in one pass over the pairs, without copies of their rows: compiled, or by torch in blocks.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.geometry.ambient import within_range
from kappagcn.geometry.manifold import Manifold
from kappagcn.geometry.numerics import arc_over_sine, eps, sin_k, sinc
from kappagcn.kernels.dispatch import first_order, runs_loops
from kappagcn.kernels.listed_pairs import listed_gradients, listed_squares
from kappagcn.nn.inputs import factors_of
from kappagcn.sparse.matrix import check_range

__all__ = ["pair_squares"]

BLOCK = 2**16  # pairs whose rows are copied at once, by torch


def pair_squares(v: Tensor, pairs: Tensor, manifold: Manifold) -> Tensor:
    """d² of exp_0(v_i) and exp_0(v_j) for listed pairs, in the dtype of v: (N, D), (2, P) → (P,).

    Differentiable once, in v and in the curvatures. κ → 0: 4|v_i − v_j|².

    Args:
        v: Tangent vectors at the origin, (N, D).
        pairs: Rows of the two points of each pair, (2, P).
        manifold: A space, or a product of spaces whose dimensions sum to D.

    >>> from kappagcn import Stereographic
    >>> v = torch.tensor([[20.0, 0.0], [0.0, 20.0]])
    >>> float(pair_squares(v, torch.tensor([[0], [1]]), Stereographic(-1.0)).sqrt())
    79.3068...
    """
    if not isinstance(pairs, Tensor) or pairs.dim() != 2 or len(pairs) != 2 or pairs.dtype != torch.int64:
        form = f"{pairs.dtype} {tuple(pairs.shape)}" if isinstance(pairs, Tensor) else type(pairs).__name__
        raise GraphError(f"pairs: expected int64 (2, P), found {form}.")
    check_range(pairs, len(v), "pairs: expected nodes")
    k, dims = factors_of(v, manifold)
    parts = zip(v.double().split(dims, 1), k.double().unbind(), strict=True)
    squares: Tensor = sum((_squares(x, pairs, kappa) for x, kappa in parts), start=v.new_zeros(()).double())
    return squares.to(v.dtype)


def _squares(v: Tensor, pairs: Tensor, k: Tensor) -> Tensor:
    """d² in one space, in float64."""
    v, length = within_range(v, k, "v")
    length = length.squeeze(1)
    slope = sinc(4 * k * length * length)
    if runs_loops(v):
        compiled_squares: Tensor = _Compiled.apply(v, length, slope, k, pairs)
        return compiled_squares
    first, second = pairs
    apart: Tensor = _DirectionGaps.apply(v, pairs)
    gap = sin_k(length[first] - length[second], k=k)
    square = gap * gap + slope[first] * slope[second] * apart
    z = k * square
    ratio = arc_over_sine(z, (1 - z).clamp(min=eps(z) ** 2).sqrt())
    return 4 * square * ratio * ratio


def _directions(v: Tensor) -> tuple[Tensor, Tensor]:
    """Lengths (N,) and directions (N, D), 0 at the origin."""
    length = torch.linalg.vector_norm(v, dim=1)
    return length, v / torch.where(length == 0, 1, length)[:, None]


class _Compiled(torch.autograd.Function):
    """d² of each pair from rows, lengths, slopes and κ, with partial derivatives by each of these arguments."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, length: Tensor, slope: Tensor, k: Tensor, pairs: Tensor) -> Tensor:
        _, unit = _directions(v)
        squares, kept = listed_squares(*_arrays(unit, length, slope, k, pairs))
        ctx.save_for_backward(unit, length, slope, k, pairs, torch.from_numpy(kept))
        return torch.from_numpy(squares)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        *inputs, kept = ctx.saved_tensors
        arrays = *_arrays(*inputs), kept.numpy(), grad.contiguous().numpy()
        *by_rows, by_k = listed_gradients(*arrays)
        by_v, by_length, by_slope = (torch.from_numpy(by) for by in by_rows)
        return by_v, by_length, by_slope, grad.new_tensor(by_k), None


def _arrays(unit: Tensor, length: Tensor, slope: Tensor, k: Tensor, pairs: Tensor) -> tuple[Any, ...]:
    """Arguments of the compiled loops."""
    rows = (t.contiguous().numpy() for t in (unit, length, slope))
    return *rows, k.item(), *(ends.contiguous().numpy() for ends in pairs)


class _DirectionGaps(torch.autograd.Function):
    """ab|û − v̂|² of each pair: (N, D), (2, P) → (P,). By u its gradient is 2b(û − v̂), where û = 0 at the origin."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, pairs: Tensor) -> Tensor:
        length, unit = _directions(v)
        ctx.save_for_backward(unit, length, pairs)
        blocks = [
            length[i] * length[j] * (unit[i] - unit[j]).square().sum(1)
            for i, j in zip(*(ends.split(BLOCK) for ends in pairs), strict=True)
        ]
        return torch.cat(blocks)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        unit, length, pairs = ctx.saved_tensors
        by_v = torch.zeros_like(unit)
        for i, j, g in zip(*(ends.split(BLOCK) for ends in pairs), grad.split(BLOCK), strict=True):
            gap = (2 * g)[:, None] * (unit[i] - unit[j])
            by_v.index_add_(0, i, length[j, None] * gap).index_add_(0, j, -length[i, None] * gap)
        return by_v, None
