"""Objectives over pairs of points by torch, used on GPUs: value and gradients in one pass over blocks.

The formulas are those of `pairs`, in float64 on blocks of rows that stay in the cache;
gradients are matrix products, without a graph. Differences of directions come from matrix products too, and one by one
where directions are so close that these would lose them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from kappagcn.kernels.points import (
    CURVED,
    FARTHEST,
    LEAST_GAP,
    LEAST_RATIO,
    LEAST_ROOT,
    NEAR,
    SQUARE_SERIES,
    TURN,
    TURN_SERIES,
)

__all__ = ["Factor", "all_pairs", "squares_from"]

BLOCK = 2**15  # pairs of a block
CLOSE = 1e-4  # |u_i − u_j|² below which differences are taken one by one
MANY = 8  # a block is taken by differences as a whole if more than 1/8 of its pairs are close
DIFFERENCES = "donot_use_mm_for_euclid_dist"


class Factor:
    """Points of one factor: directions u, radii r = 2|v| and sines sin_κ(r), with gradients by each.

    T = sin_κ((r_i − r_j)/2) = p_i q_j − q_i p_j; its cosine is a product of two numbers of i with q_j and p_j.

    Args:
        v: Tangent vectors at the origin, float64, (N, D).
        kappa: Curvature.
    """

    def __init__(self, v: Tensor, kappa: float) -> None:
        s, self.kappa = math.sqrt(abs(kappa)), kappa
        self.length = v.norm(dim=1)
        self.u = v / torch.where(self.length == 0, 1, self.length)[:, None]
        self.r = 2 * self.length if kappa >= 0 else (2 * self.length).clamp(max=FARTHEST / s)
        self.sine, self.cosine = _sine(self.r, kappa), _cosine(self.r, kappa)
        self.weighted = torch.cat([self.sine[:, None], self.sine[:, None] * self.u], 1)
        if kappa < 0 and len(v) and s * float(self.r.max()) > CURVED:
            grown = (s / 2 * self.r).exp()
            p, q = grown / (2 * s), 1 / grown
            cosines = s * p, s * q
        else:
            p, q = _sine(self.r / 2, kappa), _cosine(self.r / 2, kappa)
            cosines = q, kappa * p
        self.p, self.q, self.cosines, self.ends = p, q, torch.stack(cosines, 1), torch.stack([q, p])
        self.by_u, self.by_r, self.by_sine = torch.zeros_like(v), torch.zeros_like(p), torch.zeros_like(p)
        self.by_kappa = v.new_zeros(())

    def gradients(self) -> tuple[Tensor, Tensor]:
        """Gradients by v, (N, D), and κ, from those by directions, radii and sines, and direct ones by κ."""
        inside = 2 * self.length <= self.r  # points beyond the limit count as lying there, and get no gradient
        # sine/|v|, and at the origin, which has no direction, its limit: by_u alone is right there.
        widening = torch.where(self.length == 0, 2, self.sine / torch.where(self.length == 0, 1, self.length))
        outward = 2 * inside * (self.by_r + self.cosine * self.by_sine)
        across = self.by_u - (self.u * self.by_u).sum(1, keepdim=True) * self.u
        by_v = outward[:, None] * self.u + widening[:, None] * across
        return by_v, self.by_kappa + (self.sine_by_kappa() * self.by_sine).sum()

    def sine_by_kappa(self) -> Tensor:
        """∂sin_κ(r)/∂κ, (N,)."""
        z = self.kappa * self.r.square()
        near: Tensor = self.r * self.r.square() * _polynomial(TURN_SERIES, z.clamp(-TURN, TURN))
        if self.kappa == 0:
            return near
        return torch.where(z.abs() < TURN, near, (self.r * self.cosine - self.sine) / (2 * self.kappa))

    def pairs(self, rows: Tensor, start: int) -> Pairs:
        """Pairs of some points with all points from `start` on."""
        # Not a matrix product, which would not be exactly 0 for equal radii.
        turn = (self.p[rows, None] * self.q[start:]).sub_(self.q[rows, None] * self.p[start:])
        gap, close = _gaps(self.u[rows], self.u[start:])
        haversine = (gap * self.sine[start:]).mul_(0.25 * self.sine[rows, None]).addcmul_(turn, turn)
        if self.kappa > 0:  # beyond the antipode sines are negative, and rounding may make a sum negative
            haversine.clamp_(min=0)
        return Pairs(turn, gap, *_arcs(haversine, self.kappa), close)

    def add_gradients(self, pairs: Pairs, pull: Tensor, rows: Tensor, start: int, *, once: bool) -> None:
        """Add gradients by points and κ from derivatives by d²; without `once` none by the points of the rows."""
        by_haversine = 4 * pull * pairs.slope
        by_turn = by_haversine * pairs.turn
        turned = by_turn * (self.cosines[rows] @ self.ends[:, start:])
        widened = 0.25 * by_haversine * pairs.gap
        columns, own, wide = turned.sum(0), turned.sum(1), widened @ self.sine[start:]
        by_rows, by_columns = self._by_directions(by_haversine, pairs.close, rows, start)
        self.by_r[start:] -= columns
        self.by_sine[start:] += self.sine[rows] @ widened
        self.by_u[start:] += by_columns
        if once:
            self.by_r[rows] += own
            self.by_sine[rows] += wide
            self.by_u[rows] += by_rows
        else:  # their sines depend on κ
            self.by_kappa += (wide * self.sine_by_kappa()[rows]).sum()
        self.by_kappa += 4 * (pull * pairs.bent).sum()
        if abs(self.kappa) * float(self.r.max() - self.r.min()) ** 2 < 4 * TURN:
            h = 0.5 * (self.r[rows, None] - self.r[start:])
            self.by_kappa += 2 * (by_turn * h**3 * _polynomial(TURN_SERIES, self.kappa * h * h)).sum()
        else:  # Σ (h ∂T/∂h − T)/κ, with h = (r_i − r_j)/2
            middle = self.r.mean()
            apart = 0.5 * ((self.r[rows] - middle) @ own - (self.r[start:] - middle) @ columns)
            self.by_kappa += (apart - (by_turn * pairs.turn).sum()) / self.kappa

    def _by_directions(self, x: Tensor, close: Close, rows: Tensor, start: int) -> tuple[Tensor, Tensor]:
        """½ Σ_j x P_j (u_i − u_j) and ½ Σ_i x P_i (u_j − u_i), from x = ∂/∂S, which it overwrites."""
        u, others, sine, sines = self.u[rows], self.u[start:], self.sine[rows], self.sine[start:]
        if close is None:
            by_rows, by_columns = 0.5 * x * sines, 0.5 * (x * sine[:, None]).T
            ones = torch.ones_like(x)
            return _summed(by_rows, u, others, ones), _summed(by_columns.contiguous(), others, u, ones.T.contiguous())
        first, second = close
        apart = 0.5 * x[close][:, None] * (u[first] - others[second])
        x[close] = 0
        to_rows, to_columns = x @ self.weighted[start:], x.T @ self.weighted[rows]
        by_rows = 0.5 * (u * to_rows[:, :1] - to_rows[:, 1:])
        by_columns = 0.5 * (others * to_columns[:, :1] - to_columns[:, 1:])
        by_rows.index_add_(0, first, sines[second, None] * apart)
        by_columns.index_add_(0, second, -sine[first, None] * apart)
        return by_rows, by_columns


Close = tuple[Tensor, Tensor] | None
"""Rows and columns of the pairs whose directions are close; None for all pairs of a block."""


class Pairs(NamedTuple):
    """T, |u_i − u_j|², (d/2)² and its derivatives by S and by κ; pairs with close directions."""

    turn: Tensor
    gap: Tensor
    square: Tensor
    slope: Tensor
    bent: Tensor
    close: Close


def all_pairs(factors: list[Factor], weights: Tensor, sources: Tensor | None, objective: str, *, slopes: bool) -> float:
    """An objective over unordered pairs, or pairs with sources; with `slopes` gradients are added to the factors.

    Args:
        factors: The points.
        weights: 1/d_G² for each pair, (N, N), or (S, N) with sources; 0 for pairs to be left out.
        sources: Points whose pairs are taken, (S,); gradients are then by the other point.
        objective: One of `PAIR_OBJECTIVES`.
        slopes: Whether to compute gradients.
    """
    total = 0.0
    for places, rows, start in _blocks(weights, sources):
        w = weights[places, start:].to(torch.float64, copy=True)
        if sources is None:
            w[:, : len(rows)].triu_(1)
        pairs = [factor.pairs(rows, start) for factor in factors]
        loss, pull = _pulls(objective, 4 * w * _total(pairs), w)
        total += float(loss)
        for factor, part in zip(factors if slopes else [], pairs if slopes else [], strict=True):
            factor.add_gradients(part, pull, rows, start, once=sources is None)
    return total


def squares_from(factors: list[Factor], sources: Tensor) -> Tensor:
    """Squared distances of some points from all, (S, N)."""
    parts = sources.split(max(1, BLOCK // max(1, len(factors[0].r))))
    return torch.cat([4 * _total(each.pairs(rows, 0) for each in factors) for rows in parts])


def _total(pairs: Iterable[Pairs]) -> Tensor:
    """(d/2)² in the product of the factors."""
    return functools.reduce(torch.add, (each.square for each in pairs))


def _blocks(weights: Tensor, sources: Tensor | None) -> Iterator[tuple[slice, Tensor, int]]:
    """Blocks of rows: their place among the weights, their points, and the first point that they are paired with."""
    count, n = weights.shape
    first = 0
    while first < count:
        start = first if sources is None else 0
        places = slice(first, min(count, first + max(1, BLOCK // max(1, n - start))))
        every = torch.arange(first, places.stop, device=weights.device)
        yield places, every if sources is None else sources[places], start
        first = places.stop


def _gaps(u: Tensor, others: Tensor) -> tuple[Tensor, Close]:
    """|u_i − u_j|² of vectors that are unit vectors or 0, and the pairs for which it is small."""
    gap = torch.add(u.square().sum(1, keepdim=True), others.square().sum(1)).sub_(u @ others.T, alpha=2)
    first, second = (gap < CLOSE).nonzero(as_tuple=True)
    if len(first) * MANY > gap.numel():
        return torch.cdist(u, others, compute_mode=DIFFERENCES).square_(), None
    gap[first, second] = (u[first] - others[second]).square().sum(1)
    return gap, (first, second)


def _summed(w: Tensor, x: Tensor, y: Tensor, ones: Tensor) -> Tensor:
    """Σ_j w_ij (x_i − y_j) by differences: (N, M), (N, D), (M, D) → (N, D)."""
    sums: Tensor = torch.ops.aten._cdist_backward(w, x, y, 2.0, ones)
    return sums


def _arcs(s: Tensor, kappa: float) -> tuple[Tensor, Tensor, Tensor]:
    """(d/2)² and its derivatives by S and by κ."""
    z = kappa * s
    near = z.abs() < NEAR
    if near.all():
        return _near_arcs(s, kappa)
    if kappa < 0:
        root = z.neg().sqrt() * (1 - z).sqrt()
        arc = 0.5 * torch.log1p(2 * (root - z))
    else:
        z = z.clamp(max=1 - LEAST_GAP)
        sine, cosine = z.sqrt(), (1 - z).sqrt()
        root, arc = sine * cosine, torch.atan2(sine, cosine)
    square, slope = arc.square() / abs(kappa), arc / root
    bent = (s * slope - square) / kappa
    places = near.nonzero(as_tuple=True)
    square[places], slope[places], bent[places] = _near_arcs(s[places], kappa)
    return square, slope, bent


def _near_arcs(s: Tensor, kappa: float) -> tuple[Tensor, Tensor, Tensor]:
    """`_arcs` by series, for |κS| < NEAR."""
    z = kappa * s
    value = _polynomial(SQUARE_SERIES, z)
    derivative = _polynomial([n * c for n, c in enumerate(SQUARE_SERIES) if n], z)
    return s * value, value + z * derivative, s * s * derivative


def _polynomial(coefficients: tuple[float, ...] | list[float], z: Tensor) -> Tensor:
    result = torch.full_like(z, coefficients[-1])
    for each in reversed(coefficients[:-1]):
        result.mul_(z).add_(each)
    return result


def _pulls(objective: str, ratio: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """The objective from d²w, and its derivatives by d²."""
    counted = w.sign()
    if objective == "distortion":
        excess = ratio - counted
        return excess.square().sum(), 2 * excess * w
    ratio = ratio.clamp(min=LEAST_RATIO).sqrt()
    excess = (ratio - 1) * counted
    if objective == "relative":
        size = excess.abs()
        return size.sum(), 0.5 * w * excess / (ratio * size.clamp(min=LEAST_ROOT))
    return (excess.square() / torch.where(w > 0, w, 1)).sum(), excess / ratio


def _sine(x: Tensor, kappa: float) -> Tensor:
    s = math.sqrt(abs(kappa))
    return x if kappa == 0 else ((s * x).sinh() if kappa < 0 else (s * x).sin()) / s


def _cosine(x: Tensor, kappa: float) -> Tensor:
    s = math.sqrt(abs(kappa))
    return (s * x).cosh() if kappa < 0 else (s * x).cos()
