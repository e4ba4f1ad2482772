"""Embedding and classification in one line of code, in the manner of scikit-learn, with cross-validation."""

from kappagcn.estimators.classifier import KappaGCNClassifier
from kappagcn.estimators.config import Experiment, FeatureConfig, load_experiment, save_experiment
from kappagcn.estimators.cross_validation import splits_of
from kappagcn.estimators.defaults import default_experiment
from kappagcn.estimators.embedder import GraphEmbedder
from kappagcn.estimators.estimate import Estimate, bootstrapped
from kappagcn.estimators.start import fitting_space

__all__ = [
    "Estimate",
    "Experiment",
    "FeatureConfig",
    "GraphEmbedder",
    "KappaGCNClassifier",
    "bootstrapped",
    "default_experiment",
    "fitting_space",
    "load_experiment",
    "save_experiment",
    "splits_of",
]
