"""From settings to a network, its features and its training configuration."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.estimators.settings import ClassificationSettings
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import normalize_rows, standardize_columns
from kappagcn.models import NodeClassifier, build_model
from kappagcn.nn.features import point_features, tangent_features
from kappagcn.training import TrainingConfig

__all__ = ["build_network", "network_options", "prepare_features", "training_config"]


def network_options(settings: ClassificationSettings, model: str = "kappa-gcn") -> dict[str, Any]:
    """Arguments of a network but for the numbers of features and classes.

    >>> network_options(ClassificationSettings("H8(-0.5)", dropout=0.1), "hgcn")["curvature"]
    -0.5
    """
    options: dict[str, Any] = {"num_layers": settings.num_layers}
    options |= {"dropout": settings.dropout, "dropconnect": settings.dropconnect}
    factors = parse_signature(settings.space)
    if model == "kappa-gcn":
        options |= {"space": settings.space, "split_input": settings.split_input}
    else:
        options["hidden_channels"] = sum(factor.dim for factor in factors)
    if model == "hgcn":
        options["curvature"] = factors[0].kappa
    if model != "mlp":
        options["adjacency_norm"] = settings.adjacency_norm
    if model in ("kappa-gcn", "gcn"):
        options["adjacency_dropout"] = settings.adjacency_dropout
    return options


def build_network(
    settings: ClassificationSettings, in_channels: int, num_classes: int, model: str = "kappa-gcn"
) -> NodeClassifier:
    """The network with fresh weights.

    >>> build_network(ClassificationSettings("H8", dropout=0.1), 10, 2).options["space"]
    'H8'
    """
    return build_model(model, in_channels=in_channels, num_classes=num_classes, **network_options(settings, model))


def prepare_features(
    settings: ClassificationSettings, x: Tensor, statistics: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Features as the network takes them; columns standardised by `statistics` where these are another graph's."""
    if settings.feature_norm in ("rows", "lengths"):
        x = normalize_rows(x, order=1 if settings.feature_norm == "rows" else 2)
    elif settings.feature_norm == "columns":
        x = x.to_dense() if statistics is not None and x.layout != torch.strided else x
        x = standardize_columns(x, statistics)
    if settings.feature_map == "points":
        kappas = [factor.kappa for factor in parse_signature(settings.space)]
        x = point_features(x, kappas, split=settings.split_input)
    return tangent_features(x, scale=settings.feature_scale)


def training_config(settings: ClassificationSettings, seed: int) -> TrainingConfig:
    """How the network is trained."""
    return TrainingConfig(
        epochs=settings.epochs,
        patience=settings.patience,
        lr=settings.lr,
        curvature_lr=settings.curvature_lr,
        l2=settings.l2,  # type: ignore[arg-type]
        seed=seed,
    )
