"""Deferred imports: modules that dependencies import, that take long, and that most commands do not use.

Importing torch also imports its decompositions for compilers, and PyTorch Geometric all of its layers and datasets.
Here stand-ins take their places in ``sys.modules``, and import the real module when one of its attributes is used.
"""

import gc
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["DEFERRED", "collect_rarely", "defer_imports"]

OBJECTS = 20_000  # new objects between two searches for garbage, of which Python has 700
META = "torch._meta_registrations"  # shapes of results, for tensors without values
DEFERRED = {
    "torch._dynamo": (META,),
    "torch.export": (META,),
    META: (),
    "torch.distributions": (),
    "torch.masked": (),
    "torch.quantization": (),
    "torch.nn.intrinsic": (),
    "torch.nn.qat": (),
    "torch.nn.quantizable": (),
    "torch.nn.quantized": (),
    "torch_geometric.datasets": (),
    "torch_geometric.explain": (),
    "torch_geometric.nn": (),
    "torch_geometric.profile": (),
    "torch_geometric.transforms": (),
    "networkx": (),
    "numba": (),
    "psutil": (),
    "pyarrow": (),
    "pyarrow.compute": (),
    "pyarrow.csv": (),
    "scipy.spatial": (),
}
"""Names of the modules, each with those that must be loaded before it is."""
TRIED = {"torch": "2.13.", "torch_geometric": "2.8."}
"""Versions with which stand-ins for parts of a package were tried; others are imported as they are."""


class DeferredModule(ModuleType):
    """A stand-in for a module, which imports it when one of its attributes or submodules is used."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") and attribute not in ("__path__", "__version__"):
            raise AttributeError(attribute)
        return getattr(_load(self.__name__), attribute)


def _load(name: str) -> ModuleType:
    """The module itself, imported after those that it needs."""
    if isinstance(sys.modules.get(name), DeferredModule):
        for needed in DEFERRED.get(name, ()):
            _load(needed)
        del sys.modules[name]
    return import_module(name)


def _unchanged(function: Callable[..., Any] | None = None, *_: Any, **__: Any) -> Any:
    """Return the function itself, for a decorator that only matters to the compiler."""
    return (lambda each: each) if function is None else function


class GeneratorFinder(MetaPathFinder):
    """Imports what makes ``torch.Generator`` usable after torch, which otherwise comes with the decompositions."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_both(module: ModuleType) -> None:
            execute(module)
            import_module("torch._prims.rng_prims")

        spec.loader.exec_module = execute_both  # type: ignore[method-assign]
        return spec


def defer_imports() -> None:
    """Replace modules that are not loaded yet by stand-ins; only for a process that runs one command."""
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, GeneratorFinder())
    for name in DEFERRED:
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
    """Search for garbage less often: imports make a million objects that all stay."""
    gc.set_threshold(OBJECTS)
