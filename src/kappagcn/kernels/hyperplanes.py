r"""κ-logits of many rows: signed distances to hyperplanes, times weights, summed over factors.

With the lift (P, H) of p, the hyperplane through exp_0(p) with normal a has in ambient coordinates the normal

    n = a − κoP/λ,    m = −o,    o = ⟨P, a⟩,    λ = H + 1,

and the logit of a row with lift (N, h) is λ|a|·arsin_κ((⟨N, n⟩ + h m)/|a|).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_LEAST_COSINE, ROW_LEAST_LAMBDA, ROW_SERIES_BELOW, ROW_VALUE_SERIES_BELOW
from kappagcn.kernels.blocks import (
    Array,
    Factors,
    as_array,
    block_sums,
    compiled,
    horner,
    in_blocks,
    slope_terms,
    value_terms,
)
from kappagcn.kernels.dispatch import first_order
from kappagcn.kernels.lifting import lift, lift_backward

__all__ = ["logits"]

LEAST_COSINE, SERIES_BELOW = ROW_LEAST_COSINE, ROW_SERIES_BELOW
ARSINC, ARSINC_BELOW = value_terms("arsinc"), ROW_VALUE_SERIES_BELOW["arsinc"]
ARSINC_FIRST, ARSINC_SECOND = slope_terms("arsinc")


class _Planes(NamedTuple):
    """What belongs to the classes in one factor, in float64."""

    kappa: float
    a: Array  # (C, D)
    point: Array  # P, (C, D)
    factor: Array  # λ, (C,)
    offset: Array  # o, (C,)
    length: Array  # |a|, (C,)
    weight: Array  # λ|a|, (C,)

    @classmethod
    def of(cls, point: Array, height: Array, a: Array, kappa: float) -> _Planes:
        point, a = np.ascontiguousarray(point), np.ascontiguousarray(a)  # one type for the compiler
        length = np.sqrt((a * a).sum(1))
        length, factor = np.where(length == 0, 1, length), np.maximum(height + 1, ROW_LEAST_LAMBDA)
        return cls(kappa, a, point, factor, (point * a).sum(1), length, factor * length)

    def normals(self) -> Array:
        """n, (C, D)."""
        return self.a - (self.kappa * self.offset / self.factor)[:, None] * self.point

    def gradients(
        self, by_n: Array, by_m: Array, by_factor: Array, by_length: Array
    ) -> tuple[Array, Array, Array, float]:
        """By a, by P, by H and by κ, from those by n, m, λ and |a|."""
        along = (by_n * self.point).sum(1)
        bent = self.kappa * along / self.factor
        by_offset = -bent - by_m
        by_point = by_offset[:, None] * self.a - (self.kappa * self.offset / self.factor)[:, None] * by_n
        by_a = by_n + by_offset[:, None] * self.point + (by_length / self.length)[:, None] * self.a
        by_height = by_factor + bent * self.offset / self.factor
        return by_a, by_point, by_height, -float((along * self.offset / self.factor).sum())


@compiled
def _add_logits(products: Array, planes: _Planes, arcs: Array, scores: Array) -> None:
    """Add to the scores λ|a| times the distances, which are kept as `arcs`."""
    kappa, lengths, weights = planes.kappa, planes.length, planes.weight
    root = math.sqrt(abs(kappa))
    for i in range(products.shape[0]):
        for c in range(products.shape[1]):
            s = np.float64(products[i, c]) / lengths[c]
            z, t = kappa * s * s, root * abs(s)
            if abs(z) < ARSINC_BELOW:
                arc = s * horner(ARSINC, z)
            elif kappa > 0:
                arc = math.copysign(math.asin(min(t, 1.0)) / root, s)
            else:
                arc = math.copysign(math.log(t + math.sqrt(t * t + 1)) / root, s)
            arcs[i, c] = arc
            scores[i, c] += weights[c] * arc


@compiled
def _logits_backward(
    products: Array, planes: _Planes, arcs: Array, grad: Array, by_product: Array, sums: Array
) -> None:
    """Gradients by the products, and summed in rows of `sums` by the weights, the lengths and, per class, κ."""
    kappa, lengths, weights = planes.kappa, planes.length, planes.weight
    for i in range(products.shape[0]):
        for c in range(products.shape[1]):
            s, arc, g = np.float64(products[i, c]) / lengths[c], arcs[i, c], np.float64(grad[i, c])
            z = kappa * s * s
            slope = 1 / math.sqrt(max(1 - z, LEAST_COSINE * LEAST_COSINE))
            if abs(z) < SERIES_BELOW:
                by_kappa = s * s * s * (ARSINC_FIRST + ARSINC_SECOND * z)
            else:
                by_kappa = (s * slope - arc) / (2 * kappa)
            by_sine = g * weights[c] * slope
            by_product[i, c] = by_sine / lengths[c]
            sums[0, c] += g * arc
            sums[1, c] -= by_sine * s / lengths[c]
            sums[2, c] += g * weights[c] * by_kappa


class _Logits(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, p: Tensor, a: Tensor, k: Tensor, dims: list[int]) -> Tensor:
        ctx.factors, ctx.planes = Factors.of(dims, k), []
        lifted, lifts = lift(v, ctx.factors, v.dtype)
        on_planes, plane_lifts = lift(p, ctx.factors, p.dtype)
        points, normals_of = on_planes.double().numpy(), a.detach().clone().double().numpy()
        scores, dim = v.new_zeros(len(v), len(p)), v.shape[1]
        saved, out = [v, p, k, lifted, lifts, plane_lifts], scores.numpy()
        for f, columns in enumerate(_columns(ctx.factors)):
            kappa = float(ctx.factors.kappas[f])
            planes = _Planes.of(points[:, columns], points[:, dim + f], normals_of[:, columns], kappa)
            normal = torch.from_numpy(planes.normals()).to(v.dtype)
            rise = torch.from_numpy(-planes.offset).to(v.dtype)
            products = torch.addmm(lifted[:, dim + f, None] * rise, lifted[:, columns], normal.t())
            arcs = products.new_empty(products.shape, dtype=torch.float64)
            x, own = products.numpy(), arcs.numpy()
            in_blocks(len(x), lambda b, _, x=x, planes=planes, own=own: _add_logits(x[b], planes, own[b], out[b]))
            saved += [products, arcs, normal, rise]
            ctx.planes.append(planes)
        ctx.save_for_backward(*saved)
        return scores

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, p, k, lifted, lifts, plane_lifts, *per_factor = ctx.saved_tensors
        dim, by_lifted = v.shape[1], torch.empty_like(lifted)
        by_planes = p.new_empty(len(p), lifted.shape[1], dtype=torch.float64)
        by_a, by_k = p.new_empty(p.shape, dtype=torch.float64), np.zeros(len(ctx.planes))
        for f, (columns, planes) in enumerate(zip(_columns(ctx.factors), ctx.planes, strict=True)):
            products, arcs, normal, rise = per_factor[4 * f : 4 * f + 4]
            by_product, (by_weight, by_length, by_kappa) = _by_product(products, planes, arcs, grad)
            by_lifted[:, columns] = by_product @ normal
            by_lifted[:, dim + f] = by_product @ rise
            by_n = (by_product.t() @ lifted[:, columns]).double().numpy()
            by_m = (by_product.t() @ lifted[:, dim + f]).double().numpy()
            own_a, own_point, own_height, own_kappa = planes.gradients(
                by_n, by_m, by_weight * planes.length, by_length + by_weight * planes.factor
            )
            by_a[:, columns] = torch.from_numpy(own_a)
            by_planes[:, columns], by_planes[:, dim + f] = torch.from_numpy(own_point), torch.from_numpy(own_height)
            by_k[f] = by_kappa.sum() + own_kappa
        by_v, by_k_of_rows = lift_backward(v, ctx.factors, lifts, by_lifted)
        by_p, by_k_of_planes = lift_backward(p.double(), ctx.factors, plane_lifts, by_planes)
        return by_v, by_p.to(p.dtype), by_a.to(p.dtype), k.new_tensor(by_k + by_k_of_rows + by_k_of_planes), None


def _by_product(products: Tensor, planes: _Planes, arcs: Tensor, grad: Tensor) -> tuple[Tensor, Array]:
    """Gradients by the products, (N, C), and, (3, C), by the weights, the lengths and, per class, κ."""
    by_product = torch.empty_like(products)
    x, own, g, out = products.numpy(), arcs.numpy(), as_array(grad), by_product.numpy()
    sums = block_sums(len(x), 3, products.shape[1])
    in_blocks(len(x), lambda b, n: _logits_backward(x[b], planes, own[b], g[b], out[b], sums[n]))
    return by_product, sums.sum(0)


def _columns(factors: Factors) -> list[slice]:
    return [slice(start, end) for start, end in pairwise(factors.ends.tolist())]


def logits(v: Tensor, p: Tensor, a: Tensor, k: Tensor, dims: list[int]) -> Tensor:
    """κ-logits, (N, D), (C, D), (C, D), (F,) → (N, C); see `kappagcn.nn.logits`."""
    scores: Tensor = _Logits.apply(v, p, a, k, dims)
    return scores
