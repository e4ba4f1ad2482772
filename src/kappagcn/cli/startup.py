"""Deferred imports: modules that dependencies import, that take long, and that most commands do not use.

Importing PyTorch Geometric also imports torch's compiler and all of its own layers and datasets. Here
placeholders replace them in ``sys.modules``, and import the real module when one of its attributes is used.
"""

import atexit
import gc
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

__all__ = ["DEFERRED", "DEFERRED_WITHOUT_TRAINING", "collect_rarely", "defer_imports", "trains"]

OBJECTS = 20_000  # new objects between two garbage collections; the default of Python is 700
DEFERRED = (
    "torch._dynamo",
    "torch_geometric.datasets",
    "torch_geometric.explain",
    "torch_geometric.nn",
    "torch_geometric.profile",
    "torch_geometric.transforms",
    "networkx",
    "numba",
    "psutil",
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.csv",
    "scipy.spatial",
)
# Shapes of operations for tensors without values, which torch's compiler and some optimisers use.
DEFERRED_WITHOUT_TRAINING = ("torch._meta_registrations",)
TRIED = {"torch": "2.13.", "torch_geometric": "2.8."}
"""Versions for which placeholders for parts of a package were tested; other versions are imported in the usual way."""


class DeferredModule(ModuleType):
    """A placeholder for a module, which imports it when one of its attributes or submodules is used."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") and attribute not in ("__path__", "__version__"):
            raise AttributeError(attribute)
        return getattr(_load(self.__name__), attribute)


def _load(name: str) -> ModuleType:
    """The module itself."""
    if isinstance(sys.modules.get(name), DeferredModule):
        del sys.modules[name]
    return import_module(name)


def _unchanged(function: Callable[..., Any] | None = None, *_: Any, **__: Any) -> Any:
    """Return the function itself, for a decorator that only matters to the compiler."""
    return (lambda each: each) if function is None else function


def trains(arguments: list[str]) -> bool:
    """Whether a command line may train something; all do but `info` without `--try`."""
    return arguments[:1] != ["info"] or "--try" in arguments


def defer_imports(training: bool = True) -> None:
    """Replace modules that are not loaded yet by placeholders; only for a process that runs one command."""
    for name in (*DEFERRED, *(() if training else DEFERRED_WITHOUT_TRAINING)):
        if name not in sys.modules and _can_wait(name.partition(".")[0]):
            module = DeferredModule(name)
            if name == "torch._dynamo":
                module.__dict__["disable"] = _unchanged  # an attribute that torch's optimisers use
            sys.modules[name] = module
            parent, _, child = name.rpartition(".")
            if isinstance(sys.modules.get(parent), DeferredModule):
                sys.modules[parent].__dict__[child] = module


def _can_wait(package: str) -> bool:
    """Whether a package is installed, in a version that may be imported in parts."""
    try:
        return version(package).startswith(TRIED.get(package, ""))
    except PackageNotFoundError:
        return package in sys.stdlib_module_names


def collect_rarely() -> None:
    """Collect garbage less often, and not at the end: imports create a million objects, none of which is garbage."""
    gc.set_threshold(OBJECTS)
    atexit.register(gc.freeze)
