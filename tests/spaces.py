"""Random spaces and points for property tests: sign and size of κ, dimension, dtype, all drawn."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor

from kappagcn.geometry import random_uniform

DTYPES = [torch.float32, torch.float64]
KAPPAS = [-5.0, -1.0, -0.3, -1e-2, -1e-4, -1e-7, -1e-12, 0.0, 1e-12, 1e-7, 1e-4, 1e-2, 0.3, 1.0, 5.0]


@dataclass
class Space:
    k: float
    dim: int
    dtype: torch.dtype
    seed: int

    def __post_init__(self):
        self.generator = torch.Generator().manual_seed(self.seed)
        self.s = abs(self.k) ** 0.5

    def points(self, *shape: int, reach: float = 2.0) -> Tensor:
        """Within min(reach, reach/√|κ|) of the origin: for κ > 0, a reach above π/2 is beyond the equator."""
        radius = reach / max(self.s, 1.0)
        return random_uniform(*shape, self.dim, radius=radius, k=self.k, dtype=self.dtype, generator=self.generator)

    def vectors(self, *shape: int, size: float = 0.5) -> Tensor:
        return size * self.normal(*shape, self.dim)

    def tangents(self, *shape: int, reach: float = 1.2) -> Tensor:
        """Of length up to min(reach, reach/√|κ|): below π/2 none passes the pole for κ > 0."""
        direction = self.normal(*shape, self.dim)
        length = reach / max(self.s, 1.0) * self.uniform(*shape, 1)
        return length * direction / direction.norm(dim=-1, keepdim=True)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, dtype=self.dtype, generator=self.generator)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(*shape, dtype=self.dtype, generator=self.generator)

    def tol(self, amplification: float = 1.0) -> float:
        """A hundred roundings, in units of length that suit κ."""
        return 400 * amplification * torch.finfo(self.dtype).eps / max(self.s, 1.0)


def spaces(kappas=KAPPAS, max_dim: int = 20, min_dim: int = 1, dtypes=DTYPES):
    return st.builds(
        Space,
        k=st.sampled_from(kappas),
        dim=st.integers(min_dim, max_dim),
        dtype=st.sampled_from(dtypes),
        seed=st.integers(0, 2**31),
    )


POSITIVE = [k for k in KAPPAS if k > 0]
NEGATIVE = [k for k in KAPPAS if k < 0]


def few(examples: int):
    """So many examples of a property that takes long to check for every 60 of another."""
    return settings(max_examples=max(1, examples * settings.default.max_examples // 60))
