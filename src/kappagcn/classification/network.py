"""From settings to a network, its features and its training configuration; settings that depend on the features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.classification.fitting import Strategy, fit
from kappagcn.classification.own_features import keep_apart
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import GraphError
from kappagcn.geometry.signature import format_signature, parse_signature
from kappagcn.graphs import Split, normalize_rows, standardize_columns
from kappagcn.graphs.datasets.preprocess import column_statistics
from kappagcn.graphs.io.node_data import are_words, fits_dense
from kappagcn.models import NodeClassifier, build_model
from kappagcn.nn.features import point_features, tangent_features
from kappagcn.training.edge_weights import TRIAL_EPOCHS, choose_unit, in_units
from kappagcn.training.run import TrainingResult
from kappagcn.training.settings import ON_GRAPHS, TrainingSettings
from kappagcn.training.trainer import seeded

__all__ = [
    "build_network",
    "check_feature_names",
    "decide_self_features",
    "default_normalization",
    "feature_statistics",
    "network_options",
    "prepare_features",
    "resolved",
    "start_space",
    "train",
]

START = 0.1  # initial |κ| of networks whose curvature is not in units of their rows
WORDS = {"dropout": 0.5, "l2": 5e-4}
COLUMNS = {"dropout": 0.0, "l2": 0.0}


def default_normalization(x: Tensor) -> str:
    """``"columns"`` for measurements; ``"lengths"`` for words, and for features that are too large to be dense."""
    return "columns" if fits_dense(x) and not are_words(x) else "lengths"


def feature_statistics(settings: ClassificationSettings, x: Tensor) -> tuple[Tensor, Tensor] | None:
    """Means and deviations of the columns that `prepare_features` needs; None for other normalisations."""
    return column_statistics(_dense(x)) if settings.feature_norm == "columns" else None


def check_feature_names(fitted: list[str] | None, names: list[str] | None) -> None:
    """Refuse features that have other names than those of the fitted graph, where both have names."""
    differ = [pair for pair in zip(fitted or (), names or (), strict=False) if pair[0] != pair[1]]
    if differ:
        raise GraphError(f"expected the feature {differ[0][0]!r}, as in fit, found {differ[0][1]!r} in its place.")


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
        x = standardize_columns(_dense(x), statistics)
    if settings.feature_map == "points":
        kappas = [factor.kappa for factor in parse_signature(settings.space, start=START)]
        x = point_features(x, kappas, split=settings.split_input)
    return tangent_features(x, scale=settings.feature_scale)


def _dense(x: Tensor) -> Tensor:
    if not fits_dense(x):
        raise GraphError(
            f"feature_norm: expected rows, lengths or none for {x.shape[0]:,} × {x.shape[1]:,} sparse features, which "
            "are too large to be dense, found columns."
        )
    return x if x.layout == torch.strided else x.to_dense()


def train(
    settings: ClassificationSettings,
    classes: int,
    data: Data,
    split: Split,
    *,
    seed: int,
    strategy: Strategy,
    device: torch.device,
    run: Mapping[str, Any],
) -> tuple[NodeClassifier, TrainingResult, float | None]:
    """A new network, trained on a device and then on the CPU; how, and the unit of edge weights by `choose_unit`."""

    def fitted(graph: Data, config: TrainingSettings, **run: Any) -> tuple[NodeClassifier, TrainingResult]:
        with seeded(seed):
            model = build_network(settings, graph.num_features, classes)
        placed = graph if device.type == "cpu" else copy(graph).to(device)
        result = fit(model.to(device), placed, split, config, strategy=strategy, **run)
        return model.cpu(), result

    def trial(graph: Data) -> float:
        short = replace(config, epochs=min(TRIAL_EPOCHS, config.epochs), self_training=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the training that follows warns
            return float(min(each["stopping_loss"] for each in fitted(graph, short)[1].history))

    config = settings.training(random_state=seed)
    can_try = settings.model in ON_GRAPHS and len(split.stopping) > 0
    unit = choose_unit(settings.edge_weights, data, can_try, trial)
    return *fitted(in_units(data, unit), config, **run), unit
