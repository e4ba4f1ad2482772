"""Products and sums of short rows in vector registers, in float64: `dot`, `combine`, `weighted_sum`, `scaled_sum`.

The compiler's own vector loops take 32 numbers at a time, and what is left over one by one; rows of a hidden layer are
shorter than that. Here widths of 8, 4, 2 and 1 follow each other. Arrays are contiguous; a row is given by the array
and the place of its first number in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types

from kappagcn.kernels.blocks import Array
from kappagcn.kernels.intrinsics import intrinsic
from kappagcn.kernels.vector_math import inlined

__all__ = ["combine", "dot", "scaled_sum", "weighted_sum"]

WIDTHS = (8, 4, 2, 1)
AHEAD = 12  # entries between the row that is added and the one that is fetched
PLACE, WIDE = ir.IntType(64), ir.DoubleType()
CONTRACT = ("contract",)


class _Row:
    """A row in memory, read and written as vectors of float64 whatever its own type."""

    def __init__(self, context: Any, builder: ir.IRBuilder, kind: Any, array: Any, first: Any) -> None:
        self.builder, self.item = builder, context.get_data_type(kind.dtype)
        self.size = kind.dtype.bitwidth // 8
        self.start = builder.gep(context.make_array(kind)(context, builder, value=array).data, [first])

    def _at(self, place: Any, width: int) -> Any:
        start = self.builder.gep(self.start, [place])
        return self.builder.bitcast(start, ir.VectorType(self.item, width).as_pointer())

    def load(self, place: Any, width: int) -> Any:
        row = self.builder.load(self._at(place, width), align=self.size)
        return row if self.item == WIDE else self.builder.fpext(row, ir.VectorType(WIDE, width))

    def store(self, row: Any, place: Any, width: int) -> None:
        row = row if self.item == WIDE else self.builder.fptrunc(row, ir.VectorType(self.item, width))
        self.builder.store(row, self._at(place, width), align=self.size)


@contextmanager
def _windows(builder: ir.IRBuilder, place: Any, width: int, dim: Any) -> Iterator[Any]:
    """Code that runs for each window of this width that begins at the stored place and ends within dim."""
    test, body, done = (builder.append_basic_block(name) for name in ("test", "body", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    start = builder.load(place)
    stop = builder.add(start, ir.Constant(PLACE, width))
    builder.cbranch(builder.icmp_signed("<=", stop, dim), body, done)
    builder.position_at_end(body)
    yield start
    builder.store(stop, place)
    builder.branch(test if width == WIDTHS[0] else done)
    builder.position_at_end(done)


def _repeated(builder: ir.IRBuilder, number: Any, width: int) -> Any:
    """A vector whose lanes all hold the same number."""
    undefined = ir.Constant(ir.VectorType(WIDE, width), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), width), None))


def _sum(builder: ir.IRBuilder, row: Any, width: int) -> Any:
    """The sum of a vector's numbers, by halves."""
    while width > 1:
        width //= 2
        halves = (list(range(width)), list(range(width, 2 * width)))
        kind = ir.VectorType(ir.IntType(32), width)
        one, other = (builder.shuffle_vector(row, row, ir.Constant(kind, half)) for half in halves)
        row = builder.fadd(one, other)
    return builder.extract_element(row, ir.Constant(ir.IntType(32), 0))


@intrinsic
def dot(_: Any, x: Any, x_first: Any, y: Any, y_first: Any, dim: Any) -> Any:
    """⟨x, y⟩ of two rows of length dim."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        one, other = (_Row(context, builder, signature.args[n], args[n], args[n + 1]) for n in (0, 2))
        place = cgutils.alloca_once(builder, PLACE)
        builder.store(ir.Constant(PLACE, 0), place)
        total = ir.Constant(WIDE, 0.0)
        for width in WIDTHS:
            zeros = ir.Constant(ir.VectorType(WIDE, width), None)
            sums = cgutils.alloca_once(builder, zeros.type)
            builder.store(zeros, sums)
            with _windows(builder, place, width, args[4]) as start:
                product = builder.fmul(one.load(start, width), other.load(start, width), flags=CONTRACT)
                builder.store(builder.fadd(builder.load(sums), product, flags=CONTRACT), sums)
            total = builder.fadd(total, _sum(builder, builder.load(sums), width))
        return total

    return types.float64(x, types.int64, y, types.int64, types.int64), build


@intrinsic
def combine(
    _: Any, out: Any, out_first: Any, s: Any, x: Any, x_first: Any, t: Any, y: Any, y_first: Any, dim: Any
) -> Any:
    """Write s·x + t·y of two rows of length dim."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        rows = [_Row(context, builder, signature.args[n], args[n], args[n + 1]) for n in (0, 3, 6)]
        place = cgutils.alloca_once(builder, PLACE)
        builder.store(ir.Constant(PLACE, 0), place)
        for width in WIDTHS:
            with _windows(builder, place, width, args[8]) as start:
                left = builder.fmul(_repeated(builder, args[2], width), rows[1].load(start, width), flags=CONTRACT)
                right = builder.fmul(_repeated(builder, args[5], width), rows[2].load(start, width), flags=CONTRACT)
                rows[0].store(builder.fadd(left, right, flags=CONTRACT), start, width)
        return context.get_dummy_value()

    number, integer = types.float64, types.int64
    return types.none(out, integer, number, x, integer, number, y, integer, integer), build


def _window_sum(*widths: int) -> Any:
    """Sums of windows of these widths side by side, which stay in registers from the first row to the last."""

    @intrinsic
    def window_sum(
        _: Any, out: Any, out_first: Any, cols: Any, values: Any, first: Any, last: Any, x: Any, x_first: Any
    ) -> Any:
        def build(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            _build_sums(context, builder, signature, args, widths)
            return context.get_dummy_value()

        integer = types.int64
        return types.none(out, integer, cols, values, integer, integer, x, integer), build

    return window_sum


def _scaled_window_sum(width: int) -> Any:
    """The same of one window of rows times a number of their own; returns the sum of their second numbers."""

    @intrinsic
    def window_sum(
        _: Any,
        out: Any,
        out_first: Any,
        cols: Any,
        values: Any,
        first: Any,
        last: Any,
        x: Any,
        x_first: Any,
        numbers: Any,
        place: Any,
    ) -> Any:
        def build(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return _build_sums(context, builder, signature, args, (width,), scaled=True)

        integer = types.int64
        kinds = out, integer, cols, values, integer, integer, x, integer, numbers, integer
        return types.float64(*kinds), build

    return window_sum


def _prefetch(builder: ir.IRBuilder, cols: Any, rows: Any, entry: Any, stride: Any) -> None:
    """Code that fetches the row of an entry some places ahead from memory; for rows in one line that does not pay."""
    (count,) = cgutils.unpack_tuple(builder, cols.shape)
    ahead, last = builder.add(entry, ir.Constant(PLACE, AHEAD)), builder.sub(count, ir.Constant(PLACE, 1))
    col = builder.load(builder.gep(cols.data, [builder.select(builder.icmp_signed("<", ahead, last), ahead, last)]))
    first = builder.mul(col if col.type == PLACE else builder.sext(col, PLACE), stride)
    pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
    for place in (first, builder.add(first, builder.sub(stride, ir.Constant(PLACE, 1)))):
        at = builder.bitcast(builder.gep(rows.data, [place]), pointer)
        builder.call(fetch, [at, *(ir.Constant(flag, n) for n in (0, 3, 1))])  # to read, into all caches, data


def _build_sums(
    context: Any,
    builder: ir.IRBuilder,
    signature: Any,
    args: Any,
    widths: tuple[int, ...],
    *,
    scaled: bool = False,
) -> Any:
    """Code of the sums of windows; the sum of the rows' second numbers, if they are scaled."""
    used = (2, 3, 6, 8) if scaled else (2, 3, 6)
    arrays = {n: context.make_array(signature.args[n])(context, builder, value=args[n]) for n in used}
    _, stride = cgutils.unpack_tuple(builder, arrays[6].shape)
    starts = [ir.Constant(PLACE, sum(widths[:n])) for n in range(len(widths))]
    sums = [cgutils.alloca_once(builder, ir.VectorType(WIDE, width)) for width in widths]
    second = cgutils.alloca_once(builder, WIDE)
    for own in [*sums, second]:
        builder.store(ir.Constant(own.type.pointee, None), own)
    with cgutils.for_range(builder, builder.sub(args[5], args[4])) as loop:
        entry = builder.add(args[4], loop.index)
        col, value = (builder.load(builder.gep(arrays[n].data, [entry])) for n in (2, 3))
        col = col if col.type == PLACE else builder.sext(col, PLACE)
        value = value if value.type == WIDE else builder.fpext(value, WIDE)
        if widths[0] == 16 and signature.args[6].dtype == types.float32:  # rows in two cache lines
            _prefetch(builder, arrays[2], arrays[6], entry, stride)
        place = builder.add(builder.mul(col, stride), args[7])
        row = _Row(context, builder, signature.args[6], args[6], place)
        scale = None
        if scaled:
            _, step = cgutils.unpack_tuple(builder, arrays[8].shape)
            at = builder.add(builder.mul(col, step), args[9])
            places = (at, builder.add(at, ir.Constant(PLACE, 1)))
            scale, other = (builder.load(builder.gep(arrays[8].data, [own])) for own in places)
            term = builder.fmul(value, other, flags=CONTRACT)
            builder.store(builder.fadd(builder.load(second), term, flags=CONTRACT), second)
        for own, start, width in zip(sums, starts, widths, strict=True):
            numbers = row.load(start, width)
            if scale is not None:  # rounded, as if it had been stored
                numbers = builder.fmul(numbers, _repeated(builder, scale, width))
            term = builder.fmul(_repeated(builder, value, width), numbers, flags=CONTRACT)
            builder.store(builder.fadd(builder.load(own), term, flags=CONTRACT), own)
    total = _Row(context, builder, signature.args[0], args[0], args[1])
    for own, start, width in zip(sums, starts, widths, strict=True):
        total.store(builder.load(own), start, width)
    return builder.load(second)


_sum17, _sum16, _sum9, _sum8, _sum4, _sum2, _sum1 = (
    _window_sum(*widths) for widths in ((16, 1), (16,), (8, 1), (8,), (4,), (2,), (1,))
)
_scaled16, _scaled8, _scaled4, _scaled2, _scaled1 = map(_scaled_window_sum, (16, 8, 4, 2, 1))


@inlined
def weighted_sum(out: Array, place: int, cols: Array, values: Array, first: int, last: int, x: Array, dim: int) -> None:
    """Write Σ values[n]·x[cols[n]] over entries from first to before last, rows of length dim.

    A window that begins earlier, and writes some numbers twice, takes less than several narrow ones.
    """
    done = 0
    while done < dim:
        rest = dim - done
        if rest == 17:
            _sum17(out, place + done, cols, values, first, last, x, done)
            done = dim
        elif dim >= 16 and rest > 8 and rest != 9:
            at = done if rest >= 16 else dim - 16
            _sum16(out, place + at, cols, values, first, last, x, at)
            done = at + 16
        elif rest == 9:
            _sum9(out, place + done, cols, values, first, last, x, done)
            done = dim
        elif dim >= 8 and rest > 4:
            at = done if rest >= 8 else dim - 8
            _sum8(out, place + at, cols, values, first, last, x, at)
            done = at + 8
        elif dim >= 4 and rest > 2:
            at = done if rest >= 4 else dim - 4
            _sum4(out, place + at, cols, values, first, last, x, at)
            done = at + 4
        elif rest >= 2:
            _sum2(out, place + done, cols, values, first, last, x, done)
            done += 2
        else:
            _sum1(out, place + done, cols, values, first, last, x, done)
            done += 1


@inlined
def scaled_sum(
    out: Array,
    place: int,
    cols: Array,
    values: Array,
    first: int,
    last: int,
    x: Array,
    begin: int,
    numbers: Array,
    scale: int,
    dim: int,
) -> float:
    """Write Σ values[n]·numbers[c, scale]·x[c, begin:begin + dim] with c = cols[n].

    Returns Σ values[n]·numbers[c, scale + 1]. One number behind a row of x may be read, and one behind the sum written.
    """
    done, second = 0, 0.0
    while done < dim:
        rest, at = dim - done, done
        if dim >= 16 and rest > 8:
            at = done if rest >= 16 else dim - 16
            second = _scaled16(out, place + at, cols, values, first, last, x, begin + at, numbers, scale)
            done = at + 16
        elif dim == 7 or (dim >= 8 and rest > 4):
            at = done if rest >= 7 else dim - 8
            second = _scaled8(out, place + at, cols, values, first, last, x, begin + at, numbers, scale)
            done = at + 8
        elif dim == 3 or (dim >= 4 and rest > 2):
            at = done if rest >= 3 else dim - 4
            second = _scaled4(out, place + at, cols, values, first, last, x, begin + at, numbers, scale)
            done = at + 4
        elif rest >= 2:
            second = _scaled2(out, place + at, cols, values, first, last, x, begin + at, numbers, scale)
            done += 2
        else:
            second = _scaled1(out, place + at, cols, values, first, last, x, begin + at, numbers, scale)
            done += 1
    return second
