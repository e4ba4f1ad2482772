"""Compiled loops in the threads that torch's operations use.

After each operation torch's threads spin for some milliseconds, waiting for the next one. A second pool of threads
finds no free core beside them; a loop in the same threads starts within microseconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types

from kappagcn.kernels.blocks import Array, pool_of_threads
from kappagcn.kernels.intrinsics import intrinsic
from kappagcn.kernels.threads import team_start

__all__ = ["call_in_threads", "next_number", "run"]

PLACE, BYTES, COUNT = ir.IntType(64), ir.IntType(8).as_pointer(), ir.IntType(32)


@intrinsic
def next_number(_: Any, counter: Any) -> Any:
    """The counter, an array of one int64, which is increased by one; each thread gets other numbers."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        place = context.make_array(signature.args[0])(context, builder, value=args[0]).data
        return builder.atomic_rmw("add", place, ir.Constant(PLACE, 1), "monotonic")

    return types.int64(counter), build


@intrinsic
def call_in_threads(typing: Any, start: Any, threads: Any, loop: Any, arguments: Any) -> Any:
    """Call ``loop(*arguments)``, a compiled function without result, in each of so many threads; wait for all.

    `start` is the address of the function of an OpenMP library that does so.
    """
    loop.get_call_type(typing, arguments.types, {})  # compiles it

    def build(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        done = loop.dispatcher.overloads[tuple(arguments.types)]
        context.active_code_library.add_linking_library(done.library)
        kept = cgutils.alloca_once_value(builder, args[3])
        kind = ir.FunctionType(ir.VoidType(), [BYTES])
        body = ir.Function(builder.module, kind, name=builder.module.get_unique_name("in_thread"))
        body.linkage = "internal"
        inner = ir.IRBuilder(body.append_basic_block())
        values = inner.load(inner.bitcast(body.args[0], kept.type))
        own = [inner.extract_value(values, n) for n in range(len(arguments.types))]
        callee = context.declare_function(builder.module, done.fndesc)
        context.call_conv.call_function(inner, callee, types.none, arguments.types, own)
        inner.ret_void()
        entry = ir.FunctionType(ir.VoidType(), [kind.as_pointer(), BYTES, COUNT, COUNT]).as_pointer()
        begin = builder.inttoptr(args[0], entry)
        count = builder.trunc(args[1], COUNT)
        builder.call(begin, [body, builder.bitcast(kept, BYTES), count, ir.Constant(COUNT, 0)])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, loop, arguments), build


def run(in_team: Any, loop: Any, *arguments: Any, alone: bool) -> None:
    """Call ``loop(counter, *arguments)`` in as many threads as torch uses, or in this one alone.

    Args:
        in_team: Compiled function of the address, the number of threads and the arguments, that calls `loop` through
            `call_in_threads`.
        loop: The compiled loop, which takes numbers of its blocks from the counter by `next_number`.
        *arguments: Arguments of the loop.
        alone: Whether to use one thread.
    """
    counter: Array = np.zeros(1, np.int64)
    threads = 1 if alone else torch.get_num_threads()
    if threads == 1:
        loop(counter, *arguments)
    elif start := team_start():
        in_team(start, threads, (counter, *arguments))
    else:
        tasks = [pool_of_threads().submit(loop, counter, *arguments) for _ in range(threads - 1)]
        loop(counter, *arguments)
        for task in tasks:
            task.result()
