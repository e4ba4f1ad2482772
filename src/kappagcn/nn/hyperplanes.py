"""κ-logits of many rows: compiled where numba is installed and the rows are on the CPU, else by torch."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_LEAST_LAMBDA, arsin_k
from kappagcn.geometry.vectors import dot, norm
from kappagcn.kernels.dispatch import compiled
from kappagcn.nn.rows import lift_rows

__all__ = ["hyperplane_logits"]


def hyperplane_logits(v: Tensor, p: Tensor, a: Tensor, k: Tensor, dims: list[int]) -> Tensor:
    """κ-logits summed over factors of dimensions `dims` and curvatures k: (N, D), (C, D), (C, D), (F,) → (N, C)."""
    kernels = compiled("hyperplanes", v, p, a, k)
    if kernels is not None:
        return cast(Tensor, kernels.logits(v, p, a, k, dims))
    parts = zip(v.split(dims, -1), p.split(dims, -1), a.split(dims, -1), k.unbind(), strict=True)
    return torch.stack([_by_torch(*part) for part in parts]).sum(0)


def _by_torch(v: Tensor, p: Tensor, a: Tensor, k: Tensor) -> Tensor:
    """In one space. What belongs to classes is few and in float64: far out it overflows float32."""
    dtype, on_plane, wide, kappa = v.dtype, lift_rows(p, k).double(), a.double(), k.double()
    point, factor = on_plane[:, :-1], (on_plane[:, -1:] + 1).clamp(min=ROW_LEAST_LAMBDA)
    offset = dot(point, wide)
    normal = torch.cat((wide - kappa * offset / factor * point, -offset), -1)
    length = norm(wide)
    length = torch.where(length == 0, 1, length)
    sine = lift_rows(v, k) @ normal.to(dtype).t() / length.to(dtype).t()
    return arsin_k(sine.double(), k=kappa).to(dtype) * (factor * length).to(dtype).t()
