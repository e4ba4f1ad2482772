"""Embedding, node classification and link prediction with the interface of scikit-learn, and cross-validation."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kappagcn.estimators.classifier import KappaGCNClassifier
    from kappagcn.estimators.cross_validation import splits_of
    from kappagcn.estimators.embedder import GraphEmbedder
    from kappagcn.estimators.estimate import Estimate, bootstrapped
    from kappagcn.estimators.graph_nodes import GraphNodes
    from kappagcn.estimators.link_predictor import KappaGCNLinkPredictor, Link
    from kappagcn.estimators.settings import ClassificationSettings, EmbeddingSettings, LinkPredictionSettings

WITH_SKLEARN = True  # the command line, which has no use for scikit-learn, sets it to False before the first import

# Imported on first use, in this order: the command line reads settings without waiting for torch.
_MODULES = ("settings", "estimate", "graph_nodes", "embedder", "classifier", "cross_validation", "link_predictor")

__all__ = [
    "ClassificationSettings",
    "EmbeddingSettings",
    "Estimate",
    "GraphEmbedder",
    "GraphNodes",
    "KappaGCNClassifier",
    "KappaGCNLinkPredictor",
    "Link",
    "LinkPredictionSettings",
    "bootstrapped",
    "splits_of",
]


def __getattr__(name: str) -> Any:
    for module in _MODULES if name in __all__ else ():
        home = import_module(f"kappagcn.estimators.{module}")
        if hasattr(home, name):
            return getattr(home, name)
    raise AttributeError(f"module 'kappagcn.estimators' has no attribute {name!r}")
