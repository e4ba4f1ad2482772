"""κ-midpoints over a sparse matrix: compiled in one pass over its entries, or lift, sparse product and lowering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.library import custom_op

from kappagcn.geometry.numerics import ROW_EXPONENT, ROW_NEAR
from kappagcn.kernels.dispatch import compiled, is_numba_installed, second_order
from kappagcn.nn.rows import any_far, edge_rows, lift_rows, lower_rows
from kappagcn.sparse import Matrix, SparseMatrix
from kappagcn.tracing import is_cheap_to_read, is_compiled_for_cpu, is_slow_to_read


def midpoints(
    v: Tensor,
    adjacency: Matrix,
    k: Tensor,
    dims: list[int],
    *,
    bias: Tensor | None = None,
    double: bool = False,
) -> Tensor:
    """log_0(A ⊠ exp_0(V)) + b with factor f of dimension dims[f] and curvature k[f], (N, D) → (M, D)."""
    adjacency.check(v)
    if bias is not None and (double or bias.dtype != v.dtype):
        return midpoints(v, adjacency, k, dims, double=double) + bias
    if double and v.dtype != torch.float64:
        return midpoints(v.double(), adjacency.to(torch.float64), k, dims).to(v.dtype)
    if isinstance(adjacency, SparseMatrix) and adjacency.requires_grad:
        rows = _with_trained_weights(v, adjacency, k, dims)
        return _shifted(v, k, bias, adjacency=adjacency, dims=dims) if rows is None else _plus(rows, bias)
    if isinstance(adjacency, SparseMatrix) and adjacency.is_local():
        tensors = [v, k] if bias is None else [v, k, bias]
        if is_compiled_for_cpu(*tensors):
            if v.dtype in (torch.float32, torch.float64) and is_numba_installed():
                arrays = *adjacency.csr(), *adjacency.csr_transpose(), adjacency.row_sums()
                return cast(Tensor, midpoints_operation(v, k.double(), bias, dims, *arrays)[0])
        elif (kernels := compiled("midpoints", *tensors)) is not None:
            twin = partial(_shifted, adjacency=adjacency, dims=dims)
            matrix, transpose, weight = adjacency.arrays()
            entries = [part for part in (adjacency.rows, adjacency.cols, adjacency.values) if not part.is_inference()]
            arguments = entries, matrix, tuple(dims), transpose, weight, twin
            return cast(Tensor, kernels.midpoints(v, k.double(), bias, *arguments))
    return _shifted(v, k, bias, adjacency=adjacency, dims=dims)


def _arrays(*tensors: Tensor) -> tuple[NDArray[Any], ...]:
    return tuple(t.contiguous().numpy() for t in tensors)


@custom_op("kappagcn::midpoints", mutates_args=(), device_types="cpu")
def midpoints_operation(
    v: Tensor,
    k: Tensor,
    bias: Tensor | None,
    dims: Sequence[int],
    starts: Tensor,
    indices: Tensor,
    values: Tensor,
    turned_starts: Tensor,
    turned_indices: Tensor,
    turned_values: Tensor,
    weight: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """log_0(A ⊠ exp_0(V)) + b by compiled loops, as a function that ``torch.compile`` calls as it is.

    Args:
        v: V, (N, D), of float32 or float64.
        k: Curvatures of the factors, (F,), of float64.
        bias: b, (D,), in v's dtype; None for none.
        dims: Dimensions of the factors.
        starts: A by rows: first entry of each row, (M + 1,); with its columns and values, (E,).
        indices: Columns.
        values: Values, in v's dtype.
        turned_starts: The transpose of A by rows, (N + 1,), (E,) and (E,).
        turned_indices: Columns.
        turned_values: Values.
        weight: Row sums of A, (M,), in v's dtype.

    Returns:
        The midpoints, (M, D), and what their derivatives need: the arrays of `kernels.midpoints.Numbers`, and whether
        sums are in float64, (1,).
    """
    return _computed(v, k, bias, dims, (starts, indices, values), weight)


def _computed(
    v: Tensor, k: Tensor, bias: Tensor | None, dims: Sequence[int], matrix: Sequence[Tensor], weight: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    kernels = _kernels()
    numbers = kernels.Numbers.empty(v.shape, weight.shape[0], len(dims))
    out = v.new_empty(weight.shape[0], v.shape[1])
    shift = v.new_zeros(v.shape[1]) if bias is None else bias.clone()  # parameters are copied for FSDP
    arguments = *_arrays(v, k.clone()), kernels.bounds(tuple(dims)), _arrays(*matrix), *_arrays(weight, shift)
    dtype = kernels.compute(*arguments, out.numpy(), numbers)
    factors, lowered, sums = map(torch.from_numpy, numbers)
    return out, factors, lowered, sums, torch.tensor([dtype.itemsize == 8])


@midpoints_operation.register_fake
def _(v: Tensor, k: Tensor, bias: Tensor | None, dims: Sequence[int], *arrays: Tensor) -> tuple[Tensor, ...]:
    (n, d), rows, count = v.shape, arrays[-1].shape[0], len(dims)
    numbers = (v.new_empty(size, dtype=torch.float64) for size in ((count, 3, n), (count, 3, rows), (rows, d + count)))
    return v.new_empty(rows, d), *numbers, v.new_empty(1, dtype=torch.bool)


@custom_op("kappagcn::midpoints_backward", mutates_args=(), device_types="cpu")
def midpoints_backward(
    grad: Tensor,
    v: Tensor,
    k: Tensor,
    dims: Sequence[int],
    turned_starts: Tensor,
    turned_indices: Tensor,
    turned_values: Tensor,
    weight: Tensor,
    factors: Tensor,
    lowered: Tensor,
    sums: Tensor,
    wide: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of midpoints with respect to V, (N, D), κ, (F,), and b, (D,)."""
    turned = turned_starts, turned_indices, turned_values
    return _gradients(grad, v, k, dims, turned, weight, (factors, lowered, sums, wide))[:3]


def _gradients(
    grad: Tensor,
    v: Tensor,
    k: Tensor,
    dims: Sequence[int],
    transpose: Sequence[Tensor],
    weight: Tensor,
    saved: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients with respect to V, κ, b, and sums of lifted rows, (M, D + F)."""
    kernels, by_v, (factors, lowered, sums, wide) = _kernels(), v.new_empty(v.shape), saved
    numbers = kernels.Numbers(*_arrays(factors, lowered, sums.clone()))  # gradients take the place of the sums
    dtype = np.dtype(np.float64 if bool(wide) else np.float32)
    x, kappas, single, upper = _arrays(v, k.clone(), weight, grad)
    arguments = x, kappas, kernels.bounds(tuple(dims)), _arrays(*transpose), single, numbers, dtype, upper, by_v.numpy()
    total = torch.from_numpy(kernels.compute_gradients(*arguments, biased=True))
    by_k, by_bias = total.split([len(dims), v.shape[1]])
    return by_v, by_k.clone(), by_bias.to(v.dtype, copy=True), torch.from_numpy(numbers.sums_as(dtype))


@midpoints_backward.register_fake
def _(grad: Tensor, v: Tensor, k: Tensor, dims: Sequence[int], *arrays: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return v.new_empty(v.shape), k.new_empty(k.shape), v.new_empty(v.shape[1])


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    v, k, bias, ctx.dims, *_, turned_starts, turned_indices, turned_values, weight = inputs
    ctx.biased = bias is not None
    ctx.save_for_backward(v, k, turned_starts, turned_indices, turned_values, weight, *output[1:])


def _backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    v, k, *arrays = ctx.saved_tensors
    by_v, by_k, by_bias = midpoints_backward(grad, v, k, ctx.dims, *arrays)
    return by_v, by_k, by_bias if ctx.biased else None, *[None] * 8


midpoints_operation.register_autograd(_backward, setup_context=_save)


def _with_trained_weights(v: Tensor, adjacency: SparseMatrix, k: Tensor, dims: list[int]) -> Tensor | None:
    """Midpoints with a gradient with respect to the matrix, by compiled loops; None if some weight is negative."""
    if type(adjacency) is not SparseMatrix or compiled("midpoints", v, k, adjacency.values) is None:
        return None
    if not adjacency.is_non_negative():
        return None
    constant = adjacency.with_values(adjacency.values.detach())
    return cast(Tensor, _WeightedMidpoints.apply(v, k.double(), adjacency.values, constant, dims))


class _WeightedMidpoints(torch.autograd.Function):
    r"""log_0(A ⊠ exp_0(V)), differentiable with respect to V, κ, and the entries of A, none of which is negative.

    With S_i = Σ_j A_ij lift(v_j) and w_i = Σ_j A_ij row i is w_i f(S_i), so with a gradient g_i and G_i = ∂/∂S_i

        ∂/∂A_ij = ⟨G_i, lift(v_j)⟩ + ⟨g_i, row_i⟩/w_i.
    """

    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor, values: Tensor, constant: SparseMatrix, dims: list[int]) -> Tensor:
        weight = constant.row_sums()
        out, *saved = _computed(v, k, None, dims, constant.csr(), weight)
        entries = values, constant.rows, constant.cols
        ctx.save_for_backward(v, k, *entries, out, *constant.csr_transpose(), weight, *saved)
        ctx.dims, ctx.inputs = dims, 3
        ctx.twin = lambda v, k, values: _in_steps(v, k, constant.with_values(values), dims)
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, k, values, rows, cols, out, *transpose, weight, factors, lowered, sums, wide = ctx.saved_tensors
        saved = factors, lowered, sums, wide
        by_v, by_k, _, by_sums = _gradients(grad, v, k, ctx.dims, transpose, weight, saved)
        if not ctx.needs_input_grad[2]:
            return by_v, by_k, None, None, None
        parts = zip(v.to(by_sums.dtype).split(ctx.dims, -1), k.unbind(), strict=True)
        lifted = _join([lift_rows(part, kappa) for part, kappa in parts])
        by_weight = torch.linalg.vecdot(grad, out) / weight.masked_fill(weight == 0, 1)
        by_values = _kernels().entry_gradients(*_arrays(by_sums, lifted, by_weight, rows, cols))
        return by_v, by_k, torch.from_numpy(by_values).to(values.dtype), None, None


def _kernels() -> ModuleType:
    return import_module("kappagcn.kernels.midpoints")  # it needs numba, which is an extra


def _shifted(v: Tensor, k: Tensor, bias: Tensor | None = None, *, adjacency: Matrix, dims: list[int]) -> Tensor:
    return _plus(_in_steps(v, k, adjacency, dims), bias)


def _plus(rows: Tensor, bias: Tensor | None) -> Tensor:
    return rows if bias is None else rows + bias


def _in_steps(v: Tensor, k: Tensor, adjacency: Matrix, dims: list[int], *, double: bool = False) -> Tensor:
    """Midpoints by a lift, a sparse product and a lowering of all rows."""
    # On a device that is slow to read, whether rows lie far out is not looked up.
    if v.dtype != torch.float64 and (double or is_slow_to_read(v)):
        return _in_steps(v.double(), k, adjacency.to(torch.float64), dims).to(v.dtype)
    kappas, weight = k.double().unbind(), adjacency.row_sums()
    lifted = [lift_rows(part, kappa) for part, kappa in zip(v.split(dims, -1), kappas, strict=True)]
    sums = adjacency.product(_join(lifted)).split([dim + 1 for dim in dims], -1)
    if v.dtype != torch.float64 and is_cheap_to_read(v, k) and bool((k < 0).any()):
        far = any(any_far(*part, weight) for part in zip(lifted, sums, kappas, strict=True))
        if adjacency.any_rank(far):  # float32 would lose digits
            return _in_steps(v, k, adjacency, dims, double=True)
    return _join([lower_rows(e, kappa, weight) for e, kappa in zip(sums, kappas, strict=True)])


def _factors(v: Tensor, k: Tensor, dims: list[int]) -> Iterator[tuple[Tensor, Tensor]]:
    """Columns and curvature of each factor."""
    return zip(v.split(dims, -1), k.unbind(), strict=True)


def _join(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, -1)


@torch.no_grad()
def count_edge_rows(v: Tensor, adjacency: Matrix, k: Tensor, dims: list[int]) -> int:
    """Number of rows beyond what float64 resolves for κ < 0, before and after the product."""
    radii = [2 * (-kappa).clamp(min=0).sqrt() * part.norm(dim=-1) for part, kappa in _factors(v, k, dims)]
    is_near = all(bool((radius <= ROW_NEAR).all()) for radius in radii) and adjacency.is_non_negative()
    if not adjacency.any_rank(not is_near):  # a product in float64 would sort the whole matrix again
        return 0
    v, adjacency, k = v.double(), adjacency.to(torch.float64), k.double()
    count = 0
    for part, kappa in _factors(v, k, dims):
        far = 2 * (-kappa).clamp(min=0).sqrt() * part.norm(dim=-1) > ROW_EXPONENT[part.dtype]
        count += int(far.sum()) + edge_rows(adjacency.product(lift_rows(part, kappa)), kappa)
    return count
