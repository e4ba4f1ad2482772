r"""κ-logits of many rows: compiled with a backward of its own where numba is installed, else by torch.

With the lift (P, H) of p, the hyperplane through exp_0(p) with normal a has in ambient coordinates the normal

.. math:: n = a - \kappa\,o\,P/\lambda,\qquad m = -o,\qquad o = \langle P, a\rangle,\ \lambda = H + 1,

and the logit of a row with lift (N, h) is λ|a|·arsin_κ((⟨N, n⟩ + h m)/|a|).
"""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kappagcn.geometry.numerics import ROW_LEAST_LAMBDA
from kappagcn.geometry.vectors import norm
from kappagcn.nn.midpoints import kernels_for
from kappagcn.nn.rows import arsin_rows, first_order, lift_rows

__all__ = ["hyperplane_logits"]

Array = NDArray[Any]


def hyperplane_logits(v: Tensor, p: Tensor, a: Tensor, k: Tensor, dims: list[int]) -> Tensor:
    """κ-logits summed over factors of dimensions `dims` and curvatures k: (N, D), (C, D), (C, D), (F,) → (N, C)."""
    kernels = kernels_for(v, p, a, k)
    if kernels is not None:
        found: Tensor = _Compiled.apply(v, p, a, k, dims, kernels)
        return found
    parts = zip(v.split(dims, -1), p.split(dims, -1), a.split(dims, -1), k.unbind(), strict=True)
    return torch.stack([_by_torch(*part) for part in parts]).sum(0)


def _by_torch(v: Tensor, p: Tensor, a: Tensor, k: Tensor) -> Tensor:
    """In one space. What belongs to classes is few and in float64: far out it overflows float32."""
    dtype, on_plane, wide, kappa = v.dtype, lift_rows(p, k).double(), a.double(), k.double()
    point, factor = on_plane[:, :-1], (on_plane[:, -1:] + 1).clamp(min=ROW_LEAST_LAMBDA)
    offset = (point * wide).sum(-1, keepdim=True)
    normal = torch.cat((wide - kappa * offset / factor * point, -offset), -1)
    length = norm(wide)
    length = torch.where(length == 0, 1, length)
    product = lift_rows(v, k) @ normal.to(dtype).t()
    return arsin_rows(product / length.to(dtype).t(), k) * (factor * length).to(dtype).t()


class _Planes(NamedTuple):
    """What belongs to the classes in one factor, in float64."""

    kappa: float
    a: Array
    point: Array
    factor: Array
    offset: Array
    length: Array

    @classmethod
    def of(cls, point: Array, height: Array, a: Array, kappa: float) -> _Planes:
        length = np.sqrt((a * a).sum(1))
        factor = np.maximum(height + 1, ROW_LEAST_LAMBDA)
        return cls(kappa, a, point, factor, (point * a).sum(1), np.where(length == 0, 1, length))

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


class _Compiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, p: Tensor, a: Tensor, k: Tensor, dims: list[int], kernels: ModuleType) -> Tensor:
        factors = kernels.Factors(dims, k.tolist())
        lifted, lifts = kernels.lift(v, factors, v.dtype)
        on_planes, plane_lifts = kernels.lift(p, factors, p.dtype)
        points, normals_of = on_planes.double().numpy(), a.detach().clone().double().numpy()
        scores, dim = v.new_zeros(len(v), len(p)), v.shape[1]
        saved, ctx.planes = [v, p, k, lifted, lifts, plane_lifts], []
        for f, columns in enumerate(_columns(dims)):
            planes = _Planes.of(points[:, columns], points[:, dim + f], normals_of[:, columns], factors.kappas[f])
            normal = torch.from_numpy(planes.normals()).to(v.dtype)
            rise = torch.from_numpy(-planes.offset).to(v.dtype)
            products = torch.addmm(lifted[:, dim + f, None] * rise, lifted[:, columns], normal.t())
            weights = planes.factor * planes.length
            arcs = kernels.distances(products, planes.length, weights, planes.kappa, scores)
            saved += [products, arcs, normal, rise]
            ctx.planes.append(planes)
        ctx.kernels, ctx.factors, ctx.dims = kernels, factors, dims
        ctx.save_for_backward(*saved)
        return scores

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, p, k, lifted, lifts, plane_lifts, *per_factor = ctx.saved_tensors
        dim, kernels = v.shape[1], ctx.kernels
        by_lifted = torch.empty_like(lifted)
        by_planes = p.new_empty(len(p), lifted.shape[1], dtype=torch.float64)
        by_a, by_k = p.new_empty(p.shape, dtype=torch.float64), np.zeros(len(ctx.dims))
        for f, columns in enumerate(_columns(ctx.dims)):
            products, arcs, normal, rise = per_factor[4 * f : 4 * f + 4]
            planes = ctx.planes[f]
            weights = planes.factor * planes.length
            by_product, (by_weight, by_length, by_kappa) = kernels.distances_backward(
                products, planes.length, weights, planes.kappa, arcs, grad
            )
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
        by_v, by_k_of_rows = kernels.lift_backward(v, ctx.factors, lifts, by_lifted)
        by_p, by_k_of_planes = kernels.lift_backward(p.double(), ctx.factors, plane_lifts, by_planes)
        by_k = by_k + by_k_of_rows.sum(0) + by_k_of_planes.sum(0)
        return by_v, by_p.to(p.dtype), by_a.to(p.dtype), k.new_tensor(by_k), None, None


def _columns(dims: list[int]) -> list[slice]:
    ends = np.cumsum([0, *dims]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]
