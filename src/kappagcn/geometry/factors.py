"""Factors: spaces side by side, and how a function of one space is called on all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import GeometryError
from kappagcn.geometry.manifold import Stereographic
from kappagcn.geometry.points import Check
from kappagcn.geometry.signature import Factor, format_signature

__all__ = ["Factors"]


class Factors(nn.Module):
    """Spaces of known dimension, their coordinates one after the other; neighbours of equal dimension share a call.

    Args:
        factors: the spaces.
    """

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
        self.dims = [factor._known_dim() for factor in self._spaces()]
        self.dim = sum(self.dims)
        self._runs = [(dim, len(list(run))) for dim, run in groupby(self.dims)]

    def _spaces(self) -> list[Stereographic]:
        return [factor for factor in self.factors if isinstance(factor, Stereographic)]

    @property
    def num_factors(self) -> int:
        """How many spaces."""
        return len(self.dims)

    @property
    def k(self) -> Tensor:
        """The factors' curvatures, (F,)."""
        return torch.stack([factor.k for factor in self._spaces()])

    @property
    def signature(self) -> str:
        """With the curvatures of now: a factor is H, S or E by its sign, U if it is flat but trained."""
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
        self._check(x, self.dim, "coordinates")
        return list(x.split(self.dims, -1))

    def _check(self, x: Tensor, size: int, what: str) -> None:
        if not isinstance(x, Tensor) or x.dim() == 0 or x.shape[-1] != size:
            given = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise GeometryError(f"expected {size} {what} in the last axis for {self.signature}, found {given}.")

    def _calls(
        self, f: Callable[..., Tensor], tensors: Sequence[Tensor], extra: int, numbers: Sequence[Any]
    ) -> list[Tensor]:
        """f on each run of factors of equal dimension, on tensors (..., F, d); ``extra`` coordinates per factor."""
        for t in tensors:
            self._check(t, self.dim + extra * self.num_factors, "coordinates")
        sizes = [(dim + extra) * count for dim, count in self._runs]
        kappas = self.k.split([count for _, count in self._runs])
        parts = zip(*(t.split(sizes, -1) for t in tensors), strict=True)
        numbers = [n.unsqueeze(-1) if isinstance(n, Tensor) and n.dim() else n for n in numbers]
        return [
            f(*numbers, *(p.unflatten(-1, (count, dim + extra)) for p in part), k=kappa)
            for (dim, count), kappa, part in zip(self._runs, kappas, parts, strict=True)
        ]

    def _vectors(
        self, f: Callable[..., Tensor], *tensors: Tensor, extra: int = 0, numbers: Sequence[Any] = ()
    ) -> Tensor:
        return torch.cat([part.flatten(-2) for part in self._calls(f, tensors, extra, numbers)], -1)

    def _numbers(self, f: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        return torch.cat(self._calls(f, tensors, 0, ()), -1)

    def _each(self, f: Callable[..., Tensor], *tensors: Tensor) -> list[Tensor]:
        parts = [self.split(t) for t in tensors]
        return [f(space, *(p[i] for p in parts)) for i, space in enumerate(self._spaces())]

    def _checked(self, check: Callable[..., Check], *tensors: Tensor) -> Check:
        try:
            parts = [self.split(t) for t in tensors]
        except GeometryError as error:
            return Check(False, str(error))
        results = [check(space, *part) for space, *part in zip(self._spaces(), *parts, strict=True)]
        faults = (Check(False, f"factor {i}: {result.reason}") for i, result in enumerate(results) if not result)
        return next(faults, Check(True))
