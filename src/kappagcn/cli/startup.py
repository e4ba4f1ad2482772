"""Placeholders for parts of PyTorch Geometric that most commands do not use.

``import torch_geometric`` imports all its layers and datasets, and torch's compiler: two thirds of the time of
``kappagcn info karate``. A placeholder in ``sys.modules`` imports its module when an attribute is used.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

DEFERRED = (
    "numba",
    "torch._dynamo",
    "torch_geometric.datasets",
    "torch_geometric.explain",
    "torch_geometric.nn",
    "torch_geometric.profile",
    "torch_geometric.transforms",
)


class DeferredModule(ModuleType):
    """A placeholder for a module, which imports it when one of its attributes or submodules is used."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") and attribute != "__path__":
            raise AttributeError(attribute)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), attribute)


def defer_imports() -> None:
    """Put placeholders where modules are not loaded yet; only for a process that runs one command."""
    for name in DEFERRED:
        if name not in sys.modules:
            sys.modules[name] = DeferredModule(name)
