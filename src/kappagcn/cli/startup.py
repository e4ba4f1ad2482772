"""What a command does not wait for: modules that are imported on the way, take seconds, and that no command uses.

PyTorch Geometric imports torch's compiler and all of its datasets when it is imported itself. Here stand-ins take their
places in the list of modules, and load the real ones if something does ask for them.
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
    """A module that is imported when an attribute of it is asked for."""

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
    """The function itself: nothing is compiled here, so nothing has to be kept from it."""
    return (lambda each: each) if function is None else function


def defer_imports() -> None:
    """Put stand-ins in the places of modules that are not loaded yet; for a process that runs one command."""
    for name in DEFERRED:
        if name not in sys.modules:
            module = DeferredModule(name)
            if name == "torch._dynamo":
                module.__dict__["disable"] = _unchanged  # torch's optimisers ask for it
            sys.modules[name] = module
