"""Embedding and classification in one line of code, in the manner of scikit-learn, with cross-validation."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kappagcn.estimators.classifier import KappaGCNClassifier
    from kappagcn.estimators.cross_validation import splits_of
    from kappagcn.estimators.embedder import GraphEmbedder
    from kappagcn.estimators.estimate import Estimate, bootstrapped
    from kappagcn.estimators.settings import ClassificationSettings, EmbeddingSettings
    from kappagcn.estimators.start import fitting_space

# Imported on first use: the command line reads settings without waiting for torch.
_HOMES = {
    "ClassificationSettings": "settings",
    "EmbeddingSettings": "settings",
    "Estimate": "estimate",
    "GraphEmbedder": "embedder",
    "KappaGCNClassifier": "classifier",
    "bootstrapped": "estimate",
    "fitting_space": "start",
    "splits_of": "cross_validation",
}

__all__ = [
    "ClassificationSettings",
    "EmbeddingSettings",
    "Estimate",
    "GraphEmbedder",
    "KappaGCNClassifier",
    "bootstrapped",
    "fitting_space",
    "splits_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kappagcn.estimators' has no attribute {name!r}")
    return getattr(import_module(f"kappagcn.estimators.{_HOMES[name]}"), name)
