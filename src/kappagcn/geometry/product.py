"""ProductManifold: several spaces side by side, each with its own dimension and curvature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import GeometryError
from kappagcn.geometry import stereographic, vectors
from kappagcn.geometry.checks import Check
from kappagcn.geometry.curvature import Curvature
from kappagcn.geometry.manifold import Function, Manifold, Stereographic
from kappagcn.geometry.signature import Factor, format_signature, parse_signature


class ProductManifold(Manifold):
    """A product of constant-curvature spaces: d² = Σ d_f², coordinates one factor after the other.

    Methods are those of `Stereographic`, on vectors (..., D) with D the sum of the factors' dimensions; ambient
    vectors have one coordinate more for each factor. Neighbouring factors of equal dimension are computed in one call,
    for any signs.

    Args:
        factors: Spaces of known dimension.

    >>> space = ProductManifold.from_signature("H2xS3")
    >>> space.dim, space.num_factors, space.signature
    (5, 2, 'H2xS3')
    >>> x = space.expmap0(torch.ones(4, 5))
    >>> space.dist(x, -x).shape
    torch.Size([4])
    """

    dim: int

    def __init__(self, factors: Iterable[Stereographic]) -> None:
        super().__init__()
        spaces = list(factors)
        if not spaces:
            raise GeometryError("factors: expected at least one space, found none.")
        if not all(isinstance(space, Stereographic) for space in spaces):
            raise GeometryError(
                f"factors: expected Stereographic spaces, found {type(spaces[0]).__name__}; for a signature such as "
                f'"H8xS8" use ProductManifold.from_signature.'
            )
        self.factors = nn.ModuleList(spaces)
        self.dims = [space._known_dim() for space in spaces]
        self.dim = sum(self.dims)
        self._runs = [(dim, len(list(run))) for dim, run in groupby(self.dims)]

    @classmethod
    def from_signature(
        cls, signature: str, *, trainable: bool = False, dtype: torch.dtype | None = None
    ) -> ProductManifold:
        """The product that a signature such as ``"H8xS8"``, ``"H2^4"`` or ``"U8"`` describes.

        With ``trainable`` the curvatures of H, S and U factors are parameters, free to change sign; E stays flat.
        """
        return cls(
            Stereographic(Curvature(f.kappa, trainable=trainable and f.letter != "E", dtype=dtype), dim=f.dim)
            for f in parse_signature(signature)
        )

    @property
    def num_factors(self) -> int:
        """Number of factors, F."""
        return len(self.dims)

    @property
    def k(self) -> Tensor:
        """The factors' curvatures, (F,)."""
        return torch.stack([space.k for space in self._spaces()])

    @property
    def signature(self) -> str:
        """Signature with the current curvatures: a factor is H, S or E by its sign, U if it is flat but trained."""
        factors = []
        for dim, space in zip(self.dims, self._spaces(), strict=True):
            c = space.curvature
            letter = {-1: "H", 1: "S", 0: "U" if c.trainable else "E"}[c.sign]
            factors.append(Factor(letter, dim, float(f"{c.value:.4g}")))
        return format_signature(factors)

    def extra_repr(self) -> str:
        """Signature."""
        return self.signature

    def split(self, x: Tensor) -> list[Tensor]:
        """The factors' parts of (..., D)."""
        self._check_columns(x, self.dim)
        return list(torch.split(x, self.dims, -1))

    def factor_dists(self, x: Tensor, y: Tensor) -> Tensor:
        """The distance in each factor: (..., D), (..., D) → (..., F)."""
        return self._numbers(stereographic.dist, x, y)

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """The inner product in each factor, repeated for each of its coordinates: (..., D) each → (..., D)."""
        products = self._numbers(stereographic.inner, x, u, v)
        return products.repeat_interleave(torch.tensor(self.dims, device=x.device), -1)

    def matmul_right(self, x: Tensor, w: Tensor) -> Tensor:
        """X ⊗ W = exp_0(log_0(X)·W) over all coordinates: W (D, D)."""
        if not isinstance(w, Tensor) or w.shape != (self.dim, self.dim) or w.dtype != x.dtype:
            actual = f"{tuple(w.shape)} {w.dtype}" if isinstance(w, Tensor) else type(w).__name__
            raise GeometryError(f"w: expected ({self.dim}, {self.dim}) {x.dtype}, found {actual}.")
        return self.expmap0(vectors.matmul(self.logmap0(x), w))

    def check_point(self, x: Tensor) -> Check:
        """Whether all points of x lie in the product, and if not, why: the first factor at fault."""
        return self._first_fault(Stereographic.check_point, x)

    def check_vector(self, x: Tensor, v: Tensor) -> Check:
        """Whether all rows of v are tangent vectors at x, and if not, why: the first factor at fault."""
        return self._first_fault(Stereographic.check_vector, x, v)

    def random_uniform(self, *size: int, radius: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
        """Points uniform in the product of the factors' balls of geodesic ``radius``: (*size, D)."""
        return torch.cat([s.random_uniform(*size, radius=radius, generator=generator) for s in self._spaces()], -1)

    def _spaces(self) -> list[Stereographic]:
        return [factor for factor in self.factors if isinstance(factor, Stereographic)]

    def _known_dim(self) -> int:
        return self.dim

    def _check_columns(self, x: Tensor, size: int) -> None:
        if not isinstance(x, Tensor) or x.dim() == 0 or x.shape[-1] != size:
            actual = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise GeometryError(f"expected {size} coordinates in the last axis for {self.signature}, found {actual}.")

    def _calls(self, f: Function, tensors: Sequence[Tensor], extra: int, numbers: Sequence[Any]) -> list[Tensor]:
        """f on each run of factors of equal dimension, on tensors (..., F, d); ``extra`` coordinates per factor."""
        for t in tensors:
            self._check_columns(t, self.dim + extra * self.num_factors)
        sizes = [(dim + extra) * count for dim, count in self._runs]
        kappas = self.k.split([count for _, count in self._runs])
        parts = zip(*(torch.split(t, sizes, -1) for t in tensors), strict=True)
        numbers = [n.unsqueeze(-1) if isinstance(n, Tensor) and n.dim() else n for n in numbers]
        return [
            f(*numbers, *(p.unflatten(-1, (count, dim + extra)) for p in part), k=kappa)
            for (dim, count), kappa, part in zip(self._runs, kappas, parts, strict=True)
        ]

    def _vectors(self, f: Function, *tensors: Tensor, extra: int = 0, numbers: Sequence[Any] = ()) -> Tensor:
        return torch.cat([part.flatten(-2) for part in self._calls(f, tensors, extra, numbers)], -1)

    def _numbers(self, f: Function, *tensors: Tensor) -> Tensor:
        return torch.cat(self._calls(f, tensors, 0, ()), -1)

    def _by_factor(self, f: Function, tensors: Sequence[Tensor], **options: Any) -> list[Tensor]:
        parts = zip(*(self.split(t) for t in tensors), strict=True)
        return [f(*part, k=space.k, **options) for space, part in zip(self._spaces(), parts, strict=True)]

    def _each(self, f: Function, *tensors: Tensor, **options: Any) -> Tensor:
        return torch.cat(self._by_factor(f, tensors, **options), -1)

    def _tables(self, f: Function, *tensors: Tensor) -> Tensor:
        return torch.stack(self._by_factor(f, tensors), -1)

    def _sum(self, numbers: Tensor) -> Tensor:
        return numbers.sum(-1)

    def _length(self, numbers: Tensor) -> Tensor:
        return vectors.norm(numbers).squeeze(-1)

    def _first_fault(self, check: Callable[..., Check], *tensors: Tensor) -> Check:
        try:
            parts = [self.split(t) for t in tensors]
        except GeometryError as error:
            return Check(False, str(error))
        results = [check(space, *part) for space, *part in zip(self._spaces(), *parts, strict=True)]
        faults = (Check(False, f"factor {i}: {result.reason}") for i, result in enumerate(results) if not result)
        return next(faults, Check(True))
