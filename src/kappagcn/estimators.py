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
    "classification.classifier": ("KappaGCNClassifier",),
    "classification.cross_validation": ("splits_of",),
    "classification.settings": ("ClassificationSettings",),
    "embedding.embedder": ("GraphEmbedder",),
    "embedding.settings": ("EmbeddingSettings",),
    "links.predictor": ("KappaGCNLinkPredictor", "Link"),
    "links.settings": ("LinkPredictionSettings",),
    "training.estimate": ("Estimate", "bootstrapped"),
    "training.graph_nodes": ("GraphNodes",),
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
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"kappagcn.{module}"), name)
    raise AttributeError(f"module 'kappagcn.estimators' has no attribute {name!r}")
