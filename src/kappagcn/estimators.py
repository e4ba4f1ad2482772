"""Embedding, node classification and link prediction with the interface of scikit-learn, and cross-validation.

What users import from here stands in the room of its task: `embedding`, `classification`, `links`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kappagcn.classification.classifier import KappaGCNClassifier
    from kappagcn.classification.cross_validation import splits_of
    from kappagcn.classification.settings import ClassificationSettings
    from kappagcn.embedding.embedder import GraphEmbedder
    from kappagcn.embedding.settings import EmbeddingSettings
    from kappagcn.links.predictor import KappaGCNLinkPredictor, Link
    from kappagcn.links.settings import LinkPredictionSettings
    from kappagcn.training.estimate import Estimate, bootstrapped
    from kappagcn.training.graph_nodes import GraphNodes

# Imported on first use: the command line does not wait for torch.
_HOMES = {
    "ClassificationSettings": "classification.settings",
    "EmbeddingSettings": "embedding.settings",
    "Estimate": "training.estimate",
    "GraphEmbedder": "embedding.embedder",
    "GraphNodes": "training.graph_nodes",
    "KappaGCNClassifier": "classification.classifier",
    "KappaGCNLinkPredictor": "links.predictor",
    "Link": "links.predictor",
    "LinkPredictionSettings": "links.settings",
    "bootstrapped": "training.estimate",
    "splits_of": "classification.cross_validation",
}

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
    if name in _HOMES:
        return getattr(import_module(f"kappagcn.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'kappagcn.estimators' has no attribute {name!r}")
