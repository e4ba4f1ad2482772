"""Deferred imports: modules that dependencies import, that take seconds, and that no command uses.

Importing PyTorch Geometric also imports torch's compiler and all of its datasets. Here stand-ins take their places in
``sys.modules``, and import the real module when one of its attributes is used.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["DEFERRED", "defer_imports"]

DEFERRED = ("torch._dynamo", "torch_geometric.datasets")


class DeferredModule(ModuleType):
    """A stand-in for a module, which imports it when one of its attributes is used."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        name = self.__name__
        if sys.modules.get(name) is self:
            del sys.modules[name]
        return getattr(import_module(name), attribute)


def _unchanged(function: Callable[..., Any] | None = None, *_: Any, **__: Any) -> Any:
    """Return the function itself, for a decorator that only matters to the compiler."""
    return (lambda each: each) if function is None else function


def defer_imports() -> None:
    """Replace modules that are not loaded yet by stand-ins; only for a process that runs one command."""
    for name in DEFERRED:
        if name not in sys.modules:
            module = DeferredModule(name)
            if name == "torch._dynamo":
                module.__dict__["disable"] = _unchanged  # an attribute that torch's optimisers use
            sys.modules[name] = module
