"""Settings for a graph that nobody has searched settings for."""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.estimators.config import Experiment, FeatureConfig
from kappagcn.geometry.signature import format_signature, parse_signature
from kappagcn.training import TrainingConfig

__all__ = ["are_words", "default_experiment", "default_normalization"]

START = 0.1  # |κ|: mild, so that a wrong sign costs little; training moves it
WORDS = {"dropout": 0.5, "l2": 5e-4}
COLUMNS = {"dropout": 0.0, "l2": 0.0}


def are_words(x: Tensor) -> bool:
    """Whether features are counts or marks of which most are zero, as words of documents are.

    >>> are_words(torch.eye(5)), are_words(torch.randn(5, 2))
    (True, False)
    """
    values = x if x.layout == torch.strided else x.values()
    return bool((values >= 0).all()) and 2 * int((values != 0).sum()) < x.shape[0] * x.shape[1]


def default_normalization(x: Tensor) -> str:
    """``"columns"`` for measurements, which are dense; ``"lengths"`` otherwise."""
    return "columns" if x.layout == torch.strided and not are_words(x) else "lengths"


def default_experiment(
    dataset: str, space: str, model: str = "kappa-gcn", *, words: bool = True, normalize: str = "lengths"
) -> Experiment:
    """Few words of a document tell little each: much dropout and L². Columns of measurements: neither.

    Args:
        dataset: Its name.
        space: Signature of the hidden layer; factors start at curvatures of ±0.1 where it does not say otherwise.
        model: ``"kappa-gcn"``, or ``"gcn"`` and ``"mlp"``, which take of `space` only the dimension.
        words: Whether features are words, see `are_words`.
        normalize: Of features, see `default_normalization`.

    >>> default_experiment("disease", "H8xS8", words=False).options
    {'dropout': 0.0, 'space': 'H8(-0.1)xS8(0.1)'}
    """
    chosen = WORDS if words else COLUMNS
    factors = parse_signature(space, start=START)
    options: dict[str, object] = {"dropout": chosen["dropout"]}
    if model == "kappa-gcn":
        options["space"] = format_signature(factors)
    else:
        options["hidden"] = sum(factor.dim for factor in factors)
    return Experiment(dataset, model, options, FeatureConfig(normalize, "tangent"), TrainingConfig(l2=chosen["l2"]))
