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
    from kappagcn.classification.classifier import KappaGCNClassifier
    from kappagcn.embedding.embedder import GraphEmbedder
    from kappagcn.geometry import Curvature, ProductManifold, Stereographic
    from kappagcn.links.predictor import KappaGCNLinkPredictor
    from kappagcn.models import KappaGCN
    from kappagcn.nn import KappaGCNConv

# Packages and their names here, imported on first use: `import kappagcn` and `kappagcn --help` do not wait for torch.
_PACKAGES = {
    "estimators": ("GraphEmbedder", "KappaGCNClassifier", "KappaGCNLinkPredictor"),
    "geometry": ("Curvature", "ProductManifold", "Stereographic"),
    "graphs": (),
    "models": ("KappaGCN",),
    "nn": ("KappaGCNConv",),
    "optim": (),
    "training": (),
}

__all__ = [
    "Curvature",
    "GraphEmbedder",
    "KappaGCN",
    "KappaGCNClassifier",
    "KappaGCNConv",
    "KappaGCNLinkPredictor",
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
    for package, names in _PACKAGES.items():
        if name == package or name in names:
            module = import_module(f"kappagcn.{package}")
            return module if name == package else getattr(module, name)
    raise AttributeError(f"module 'kappagcn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
