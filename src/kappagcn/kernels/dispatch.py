"""The one switch between compiled loops and torch: loops where tensors are on the CPU and Python may read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kappagcn.errors import GeometryError
from kappagcn.tracing import is_autocast_on, is_cheap_to_read

_torch_only = False


def runs_loops(*tensors: Tensor) -> bool:
    """Whether compiled loops can take these tensors: values on the CPU that Python may read, in float32 or float64."""
    if _torch_only or not is_cheap_to_read(*tensors):
        return False
    return all(t.dtype in (torch.float32, torch.float64) for t in tensors)


@contextmanager
def torch_only() -> Iterator[None]:
    """A context in which torch is used instead of compiled loops, for comparisons."""
    global _torch_only
    before, _torch_only = _torch_only, True
    try:
        yield
    finally:
        _torch_only = before


def _without_autocast(t: Tensor) -> AbstractContextManager[None]:
    return torch.autocast(t.device.type, enabled=False) if is_autocast_on(t) else nullcontext()


def second_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled backward for first derivatives; second ones use ``ctx.twin``, the same function in torch.

    The twin takes the saved tensors of which there are derivatives, ``ctx.saved_tensors[: ctx.inputs]``.
    """

    @wraps(backward)
    def either(ctx: Any, grad: Tensor) -> Any:
        if not torch.is_grad_enabled():
            with _without_autocast(grad):
                return backward(ctx, grad)
        inputs = ctx.saved_tensors[: ctx.inputs]
        wanted = [t for t in inputs if t.requires_grad]
        with _without_autocast(grad):
            grads = iter(torch.autograd.grad(ctx.twin(*inputs), wanted, grad, create_graph=True, allow_unused=True))
        by_input = [next(grads) if t.requires_grad else None for t in inputs]
        return (*by_input, *[None] * (len(ctx.needs_input_grad) - len(inputs)))

    return either


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward that raises an error if it is differentiated itself; autocast does not lower it."""
    once = once_differentiable(backward)

    @wraps(backward)
    def checked(ctx: Any, *grads: Tensor) -> Any:
        # torch itself objects only where the incoming gradient has a history.
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            raise GeometryError(
                "expected first derivatives alone of this layer, found create_graph=True; the functions of "
                "kappagcn.geometry have second ones."
            )
        with _without_autocast(grads[0]):
            return once(ctx, *grads)

    return checked
