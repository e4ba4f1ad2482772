"""Compressed rows (CSR) of a sparse matrix and their products with dense rows.

`sorted_order` and `csr_product` are registered with torch, so that ``torch.compile`` calls them as they are. Outside of
a compiled function products skip the registration, which takes as long as a small product.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.library import custom_op

from kappagcn.errors import GraphError
from kappagcn.tracing import is_autocast_on

__all__ = ["CSR", "csr_product", "csr_tensor", "multiply", "product", "sorted_order"]


class CSR(NamedTuple):
    """The arrays of a matrix (M, N) by rows; repeated entries add up.

    Attributes:
        starts: Position of each row's first entry, and the number of entries E, (M + 1,) of int32.
        indices: Columns, (E,) of int32.
        values: Entries, (E,).
    """

    starts: Tensor
    indices: Tensor
    values: Tensor

    def tensor(self, columns: int) -> Tensor:
        """The matrix as a CSR tensor of torch, which shares the arrays."""
        return csr_tensor(*self, (self.starts.shape[0] - 1, columns))

    def without_padding(self) -> CSR:
        """The arrays without unused places behind the entries."""
        count = int(self.starts[-1])
        return CSR(self.starts, self.indices[:count], self.values[:count])


def csr_tensor(starts: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor that shares these tensors, unchecked."""
    _silence_beta_warning()
    return torch.sparse_csr_tensor(starts, indices, values, shape, check_invariants=False)


@cache
def _silence_beta_warning() -> None:
    """Make a CSR tensor without the warning that torch gives for the first one alone."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        torch.eye(1).to_sparse_csr()


@custom_op("kappagcn::sorted_order", mutates_args=())
def sorted_order(keys: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Stable order of integer keys below `size`: first position of each key, (size + 1,), and the keys' numbers, (E,).

    On the CPU it counts keys, which takes a tenth of the time of ``argsort``.

    >>> sorted_order(torch.tensor([1, 0, 1]), 3)
    (tensor([0, 1, 3, 3], dtype=torch.int32), tensor([1, 0, 2], dtype=torch.int32))
    """
    count = keys.shape[0]
    if not keys.is_cpu:
        order = keys.argsort(stable=True)
        bounds = torch.arange(size + 1, dtype=keys.dtype, device=keys.device)
        return torch.searchsorted(keys[order], bounds, out_int32=True), order.int()
    if count and not 0 <= int(keys.min()) <= int(keys.max()) < size:
        raise GraphError(f"expected indices from 0 to {size - 1}, found {int(keys.min())} to {int(keys.max())}.")
    # One entry in each row: the columns of this matrix list its rows in order.
    rows = sp.csr_array((np.empty(count, np.bool_), keys.numpy(), np.arange(count + 1)), shape=(count, max(size, 1)))
    columns = rows.tocsc()
    return torch.from_numpy(columns.indptr[: size + 1]).int(), torch.from_numpy(columns.indices).int()


@sorted_order.register_fake
def _(keys: Tensor, size: int) -> tuple[Tensor, Tensor]:
    return keys.new_empty(size + 1, dtype=torch.int32), torch.empty_like(keys, dtype=torch.int32)


def multiply(matrix: Tensor, x: Tensor) -> Tensor:
    """The product of a CSR tensor and dense rows, in the rows' precision also under autocast."""
    if is_autocast_on(x):
        with torch.autocast(x.device.type, enabled=False):
            return matrix @ x
    return matrix @ x


@custom_op("kappagcn::csr_product", mutates_args=())
def csr_product(
    starts: Tensor,
    indices: Tensor,
    values: Tensor,
    turned_starts: Tensor,
    turned_indices: Tensor,
    turned_values: Tensor,
    x: Tensor,
) -> Tensor:
    """The product of a matrix (M, N), given with its transpose, and rows, (N, D) → (M, D), which get gradients."""
    return multiply(CSR(starts, indices, values).without_padding().tensor(x.shape[0]), x).contiguous()


@csr_product.register_fake
def _(starts: Tensor, indices: Tensor, values: Tensor, a: Tensor, b: Tensor, c: Tensor, x: Tensor) -> Tensor:
    return x.new_empty(starts.shape[0] - 1, x.shape[1])


def _save_matrices(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:-1])


def _csr_product_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    starts, indices, values, *turned = ctx.saved_tensors
    return *[None] * 6, csr_product(*turned, starts, indices, values, grad)


csr_product.register_autograd(_csr_product_backward, setup_context=_save_matrices)


class _Product(torch.autograd.Function):
    """`csr_product` of CSR tensors that never change."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transpose: Tensor, x: Tensor) -> Tensor:
        ctx.matrices = matrix, transpose
        return multiply(matrix, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor]:
        matrix, transpose = ctx.matrices
        return None, None, _Product.apply(transpose, matrix, grad)


def product(matrix: Tensor, transpose: Tensor, x: Tensor) -> Tensor:
    """The product of a CSR tensor, given with its transpose, and rows, (N, D) → (M, D); differentiable in the rows."""
    return cast(Tensor, _Product.apply(matrix, transpose, x))
