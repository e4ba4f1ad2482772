"""κ-logits of many rows: signed distances to hyperplanes, times weights, summed over factors."""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT, ROW_LEAST_LAMBDA
from kappagcn.geometry.vectors import dot, matmul, norm
from kappagcn.kernels.arcs import arsin_rows
from kappagcn.kernels.midpoints import lift_rows


def hyperplane_logits(v: Tensor, p: Tensor, a: Tensor, k: Tensor, dims: list[int]) -> Tensor:
    """κ-logits summed over factors of dimensions `dims` and curvatures k: (N, D), (C, D), (C, D), (F,) → (N, C)."""
    parts = zip(v.split(dims, -1), p.split(dims, -1), a.split(dims, -1), k.unbind(), strict=True)
    return torch.stack([_in_one_space(*part) for part in parts]).sum(0)


def _in_one_space(v: Tensor, p: Tensor, a: Tensor, k: Tensor) -> Tensor:
    """κ-logits in one space; numbers per class are computed in float64."""
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
