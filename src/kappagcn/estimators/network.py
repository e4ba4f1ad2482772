"""From settings to a network, its features and its training configuration; settings that depend on the features."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.estimators.own_features import keep_apart
from kappagcn.estimators.settings import ClassificationSettings
from kappagcn.geometry.signature import format_signature, parse_signature
from kappagcn.graphs import Split, normalize_rows, standardize_columns
from kappagcn.models import NodeClassifier, build_model
from kappagcn.nn.features import point_features, tangent_features
from kappagcn.training import TrainingConfig

__all__ = [
    "are_words",
    "build_network",
    "decide_self_features",
    "default_normalization",
    "network_options",
    "prepare_features",
    "resolved",
    "start_space",
    "training_config",
]

START = 0.1  # initial |κ| of networks whose curvature is not in units of their rows
WORDS = {"dropout": 0.5, "l2": 5e-4}
COLUMNS = {"dropout": 0.0, "l2": 0.0}


def are_words(x: Tensor) -> bool:
    """Whether features are counts that are mostly zero, as words of documents are.

    >>> are_words(torch.eye(5)), are_words(torch.randn(5, 2))
    (True, False)
    """
    values = x if x.layout == torch.strided else x.values()
    return bool((values >= 0).all()) and 2 * int((values != 0).sum()) < x.shape[0] * x.shape[1]


def default_normalization(x: Tensor) -> str:
    """``"columns"`` for measurements, which are dense; ``"lengths"`` otherwise."""
    return "columns" if x.layout == torch.strided and not are_words(x) else "lengths"


def resolved(settings: ClassificationSettings, x: Tensor) -> ClassificationSettings:
    """Settings with every "auto" replaced by a value that depends on the features.

    Sparse counts, such as words of documents, get dropout and L²; columns of measurements get neither.

    >>> resolved(ClassificationSettings(), torch.eye(5)).dropout
    0.5
    """
    chosen: dict[str, Any] = {**(WORDS if are_words(x) else COLUMNS), "feature_norm": default_normalization(x)}
    plain = ClassificationSettings(**{each.name: getattr(settings, each.name) for each in fields(settings)})
    return replace(plain, **{name: value for name, value in chosen.items() if getattr(plain, name) == "auto"})


def decide_self_features(
    settings: ClassificationSettings, data: Data, split: Split, has_features: bool
) -> ClassificationSettings:
    """Settings with `self_features` on or off; "auto" is on where own features predict better than the neighbours'."""
    if settings.self_features != "auto":
        return settings
    return replace(settings, self_features="on" if has_features and keep_apart(data, split) else "off")


def start_space(space: str) -> str:
    """Signature with initial curvatures of ±0.1 where it has none, for curvatures that are not in units of rows.

    >>> start_space("H8xS8")
    'H8(-0.1)xS8(0.1)'
    """
    return format_signature(parse_signature(space, start=START))


def network_options(settings: ClassificationSettings) -> dict[str, Any]:
    """Arguments of a network, except the numbers of features and classes.

    >>> network_options(ClassificationSettings("H8(-0.5)", model="hgcn", dropout=0.1))["curvature"]
    -0.5
    """
    model, common = settings.model, ("num_layers", "dropout", "input_dropout", "dropconnect")
    options: dict[str, Any] = {name: getattr(settings, name) for name in common}
    factors = parse_signature(settings.space, start=START)
    if model == "kappa-gcn":
        options |= {name: getattr(settings, name) for name in ("space", "split_input", "output")}
        options["self_features"] = settings.self_features == "on"
    elif model == "appnp":
        options |= {
            "space": settings.space,
            "relative": True,
            "steps": settings.propagation_steps,
            "alpha": settings.alpha,
        }
    else:
        options["hidden_channels"] = sum(factor.dim for factor in factors)
    if model == "hgcn":
        options["curvature"] = factors[0].kappa
    if model in ("kappa-gcn", "appnp"):
        options["relative"] = True
    if model != "mlp":
        options["adjacency_norm"] = settings.adjacency_norm
    if model in ("kappa-gcn", "appnp", "gcn"):
        options["adjacency_dropout"] = settings.adjacency_dropout
    return options


def build_network(settings: ClassificationSettings, in_channels: int, num_classes: int) -> NodeClassifier:
    """The network with new weights.

    >>> build_network(ClassificationSettings("H8", dropout=0.1), 10, 2).options["space"]
    'H8'
    """
    options = network_options(settings)
    return build_model(settings.model, in_channels=in_channels, num_classes=num_classes, **options)


def prepare_features(
    settings: ClassificationSettings, x: Tensor, statistics: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Features for the network; `statistics` are the column means and deviations of the fitted graph."""
    if settings.feature_norm in ("rows", "lengths"):
        x = normalize_rows(x, order=1 if settings.feature_norm == "rows" else 2)
    elif settings.feature_norm == "columns":
        x = x.to_dense() if statistics is not None and x.layout != torch.strided else x
        x = standardize_columns(x, statistics)
    if settings.feature_map == "points":
        kappas = [factor.kappa for factor in parse_signature(settings.space, start=START)]
        x = point_features(x, kappas, split=settings.split_input)
    return tangent_features(x, scale=settings.feature_scale)


def training_config(settings: ClassificationSettings, seed: int) -> TrainingConfig:
    """Training configuration of the settings."""
    names = ("epochs", "patience", "stop_by", "lr", "curvature_lr", "l2", "self_training")
    return TrainingConfig(**{name: getattr(settings, name) for name in names}, seed=seed)
