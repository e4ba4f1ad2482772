"""Layers whose input may be sparse: the transpose that the backward needs is made once, not in every step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.graphs.sparse import SparseMatrix

__all__ = ["Features", "SparseInput"]

Features = Tensor | SparseMatrix


class SparseInput(nn.Module):
    """A module that keeps the last sparse tensor it was given in a form that multiplies fast."""

    def __init__(self) -> None:
        super().__init__()
        self._features: tuple[Tensor, SparseMatrix] | None = None

    def features(self, x: Features) -> Features:
        """A sparse tensor as a :class:`SparseMatrix`, the same one while the same tensor comes."""
        if isinstance(x, SparseMatrix) or x.layout == torch.strided:
            return x
        if self._features is None or self._features[0] is not x:
            self._features = (x, SparseMatrix.from_tensor(x))
        return self._features[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_features": None}  # a copy of the layer is no copy of the data
