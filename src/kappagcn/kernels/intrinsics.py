"""Intrinsics that numba lacks: the bits of a number, arrays without reference counts, numbers loaded ahead of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba.extending
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_untracked

__all__ = ["bits_of", "borrowed", "float_of", "prefetch"]

# Callers do not pass the typing context that these functions are written with.
intrinsic: Callable[[Any], Any] = numba.extending.intrinsic


@intrinsic
def bits_of(_: Any, x: Any) -> Any:
    """The bits of a float64."""

    def convert(__: Any, builder: ir.IRBuilder, ___: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), convert


@intrinsic
def float_of(_: Any, bits: Any) -> Any:
    """The float64 that has these bits."""

    def convert(__: Any, builder: ir.IRBuilder, ___: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), convert


@intrinsic
def borrowed(_: Any, array: Any) -> Any:
    """The array without reference counting, whose atomic operations are slow; the caller keeps the array alive."""

    def convert(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, value=args[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        return impl_ret_untracked(context, builder, signature.return_type, view._getvalue())

    return array(array), convert


@intrinsic
def prefetch(_: Any, array: Any, row: Any, column: Any) -> Any:
    """Begin to load a number of a matrix, and its neighbours in memory, into the cache; nothing waits for them."""

    def convert(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        kind, count, space = signature.args[0], ir.IntType(32), ir.IntType(8).as_pointer()
        view = context.make_array(kind)(context, builder, value=args[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, list(args[1:]))
        form = ir.FunctionType(ir.VoidType(), [space, count, count, count])
        load = builder.module.declare_intrinsic("llvm.prefetch", [space], form)
        # For reading, to all caches, data.
        builder.call(load, [builder.bitcast(place, space), *(ir.Constant(count, n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.none(array, types.intp, types.intp), convert
