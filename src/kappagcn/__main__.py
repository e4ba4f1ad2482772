"""Entry point of ``python -m kappagcn`` and of the script ``kappagcn``.

``import torch_geometric`` imports all its layers and datasets, and torch's compiler: two thirds of the time of
``kappagcn info karate``. Here such modules are imported when one of their attributes is used.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

from kappagcn.cli import app

__all__ = ["app"]

DEFERRED = (
    "numba",
    "torch._dynamo",
    "torch_geometric.datasets",
    "torch_geometric.explain",
    "torch_geometric.nn",
    "torch_geometric.profile",
    "torch_geometric.transforms",
)


class DeferringFinder(PathFinder):
    """Finds the modules in `DEFERRED`, and has them loaded when they are used."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module with a lazy loader; None for all other modules."""
        spec = super().find_spec(fullname, path, target) if fullname in DEFERRED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


sys.meta_path.insert(0, DeferringFinder)

if __name__ == "__main__":
    app()
