"""Graph learning in spaces of constant curvature, with the curvature and its sign learned.

>>> import kappagcn
>>> kappagcn.ProductManifold.from_signature("H8xS8").dim
16
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kappagcn._version import __version__

if TYPE_CHECKING:  # real types for type checkers and editors
    from kappagcn import estimators, geometry, graphs, models, nn, optim, training
    from kappagcn.estimators import GraphEmbedder, KappaGCNClassifier
    from kappagcn.geometry import Curvature, ProductManifold, Stereographic
    from kappagcn.models import KappaGCN
    from kappagcn.nn import KappaGCNConv

# Imported on first use: `import kappagcn` and `kappagcn --help` do not wait for torch.
_HOMES = {
    "Curvature": "kappagcn.geometry",
    "GraphEmbedder": "kappagcn.estimators",
    "KappaGCN": "kappagcn.models",
    "KappaGCNClassifier": "kappagcn.estimators",
    "KappaGCNConv": "kappagcn.nn",
    "ProductManifold": "kappagcn.geometry",
    "Stereographic": "kappagcn.geometry",
    "estimators": "kappagcn.estimators",
    "geometry": "kappagcn.geometry",
    "graphs": "kappagcn.graphs",
    "models": "kappagcn.models",
    "nn": "kappagcn.nn",
    "optim": "kappagcn.optim",
    "training": "kappagcn.training",
}

__all__ = [
    "Curvature",
    "GraphEmbedder",
    "KappaGCN",
    "KappaGCNClassifier",
    "KappaGCNConv",
    "ProductManifold",
    "Stereographic",
    "__version__",
    "estimators",
    "geometry",
    "graphs",
    "models",
    "nn",
    "optim",
    "training",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kappagcn' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    return module if _HOMES[name].endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
