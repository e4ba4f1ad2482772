"""What layers ask of a matrix that multiplies rows of nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from kappagcn.errors import GraphError

__all__ = ["Matrix"]


class Matrix(ABC):
    """What layers ask of a matrix (M, N) that multiplies rows of nodes, (N, D) → (M, D). It never changes.

    Attributes:
        shape: (M, N).
    """

    shape: tuple[int, int]

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype:
        """Floating-point type of the entries."""

    @property
    @abstractmethod
    def requires_grad(self) -> bool:
        """Whether the entries get a gradient."""

    @abstractmethod
    def product(self, x: Tensor) -> Tensor:
        """The product with rows, (N, D) → (M, D), differentiable."""

    @abstractmethod
    def transpose(self) -> Matrix:
        """The transpose, (N, M)."""

    @abstractmethod
    def to(self, *args: Any, **kwargs: Any) -> Matrix:
        """The matrix in another dtype or on another device; arguments are those of ``Tensor.to``."""

    @abstractmethod
    def dropout(self, p: float) -> Matrix:
        """The matrix with each entry set to 0 with probability p, and the others divided by 1 − p."""

    @abstractmethod
    def row_sums(self) -> Tensor:
        """Row sums Σ_j A_ij, (M,)."""

    @abstractmethod
    def is_non_negative(self) -> bool:
        """Whether no entry is below 0."""

    def __matmul__(self, x: Tensor) -> Tensor:
        return self.product(x)

    def check(self, x: Tensor) -> None:
        """Refuse rows that cannot be multiplied by this matrix."""
        if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[0] != self.shape[1] or not x.is_floating_point():
            value = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise GraphError(
                f"expected ({self.shape[1]}, D) of floating-point numbers for a matrix {self.shape}, found {value}."
            )

    def is_local(self) -> bool:
        """Whether compiled loops can take the matrix by `csr`, `csr_transpose` and `row_sums`."""
        return False

    def any_rank(self, condition: bool) -> bool:
        """Whether the condition holds on any rank that has rows of the matrix."""
        return condition

    def mean_over_ranks(self, values: Tensor) -> Tensor:
        """The mean of one number for each node, (N,), over the nodes of all ranks."""
        return values.mean()
