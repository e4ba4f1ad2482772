"""From settings and a graph to a trained network: what node classification and link prediction share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.geometry.signature import format_signature, parse_signature
from kappagcn.graphs import normalize_rows, standardize_columns
from kappagcn.graphs.io.node_data import are_words, fits_dense
from kappagcn.training.edge_weights import TRIAL_EPOCHS, choose_unit, in_units
from kappagcn.training.run import TrainingResult
from kappagcn.training.setting_field import idle_reason
from kappagcn.training.settings import ON_GRAPHS, NetworkSettings, TrainingSettings
from kappagcn.training.trainer import seeded

__all__ = [
    "as_dense",
    "default_normalization",
    "network_options",
    "normalized_features",
    "regularisation",
    "start_space",
    "train_network",
    "with_resolved",
]

SettingsT = TypeVar("SettingsT", bound=NetworkSettings)
ModelT = TypeVar("ModelT", bound=nn.Module)
START = 0.1  # initial |κ| of networks whose curvature is not in units of their rows
CURVED = ("kappa-gcn", "appnp")  # networks that take a space; others take its dimension
# Settings that networks take as arguments, and their names there.
ARGUMENTS = {
    "num_layers": "num_layers",
    "dropout": "dropout",
    "input_dropout": "input_dropout",
    "dropconnect": "dropconnect",
    "adjacency_norm": "adjacency_norm",
    "adjacency_dropout": "adjacency_dropout",
    "split_input": "split_input",
    "output": "output",
    "propagation_steps": "steps",
    "alpha": "alpha",
}


def regularisation(are_sparse_counts: bool, dropout: str = "dropout") -> dict[str, float]:
    """Dropout and L² for "auto": sparse counts, such as words of documents, get both, measurements neither."""
    return {dropout: 0.5, "l2": 5e-4} if are_sparse_counts else {dropout: 0.0, "l2": 0.0}


def default_normalization(x: Tensor) -> str:
    """``"columns"`` for measurements; ``"lengths"`` for words, and for features that are too large to be dense."""
    return "columns" if fits_dense(x) and not are_words(x) else "lengths"


def with_resolved(kind: type[SettingsT], settings: NetworkSettings, values: Mapping[str, Any]) -> SettingsT:
    """Settings of this kind, such as those of an estimator, with these values in place of every "auto"."""
    plain = kind(**{field.name: getattr(settings, field.name) for field in fields(kind)})
    return replace(plain, **{name: value for name, value in values.items() if getattr(plain, name) == "auto"})


def start_space(space: str) -> str:
    """Signature with initial curvatures of ±0.1 where it has none, for curvatures that are not in units of rows.

    >>> start_space("H8xS8")
    'H8(-0.1)xS8(0.1)'
    """
    return format_signature(parse_signature(space, start=START))


def network_options(settings: NetworkSettings) -> dict[str, Any]:
    """Arguments of a network from the settings that it uses, except the numbers of features and classes."""
    used = [field.name for field in fields(settings) if idle_reason(field, settings) is None]
    options = {ARGUMENTS[name]: getattr(settings, name) for name in used if name in ARGUMENTS}
    factors, model = parse_signature(settings.space, start=START), getattr(settings, "model", "")
    if model in CURVED:
        options["space"] = settings.space
    else:
        options["hidden_channels"] = sum(factor.dim for factor in factors)
    if model == "hgcn":
        options["curvature"] = factors[0].kappa
    return options


def normalized_features(norm: str, x: Tensor, statistics: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """Features by a setting `feature_norm`; `statistics` are the column means and deviations of the fitted graph."""
    if norm in ("rows", "lengths"):
        return normalize_rows(x, order=1 if norm == "rows" else 2)
    return standardize_columns(as_dense(x), statistics) if norm == "columns" else x


def as_dense(x: Tensor) -> Tensor:
    """Features as a dense matrix, (N, D)."""
    if not fits_dense(x):
        raise GraphError(
            f"feature_norm: expected rows, lengths or none for {x.shape[0]:,} × {x.shape[1]:,} sparse features, which "
            "are too large to be dense, found columns."
        )
    return x if x.layout == torch.strided else x.to_dense()


def train_network(
    settings: NetworkSettings,
    data: Data,
    *,
    training: TrainingSettings,
    device: torch.device,
    build: Callable[[Data], ModelT],
    fit: Callable[..., TrainingResult],
    trial_loss: Callable[[TrainingResult], float],
    can_try: bool = True,
    run: Mapping[str, Any],
) -> tuple[ModelT, TrainingResult, float | None]:
    """A new network, trained on a device and then on the CPU; how, and the unit of edge weights by `choose_unit`.

    Args:
        settings: Settings of the network.
        data: The graph with prepared features.
        training: Settings of training.
        device: Device to train on.
        build: The network with new weights for a graph.
        fit: Trains a network: ``fit(network, graph, training, **run)``.
        trial_loss: Of a trial, by which the unit of edge weights is chosen.
        can_try: Whether there are nodes or pairs to judge a trial by.
        run: Run folder, resuming and callbacks.
    """

    def trained(graph: Data, training: TrainingSettings, **run: Any) -> tuple[ModelT, TrainingResult]:
        with seeded(training.random_state):
            model = build(graph)
        placed = graph if device.type == "cpu" else copy(graph).to(device)
        result = fit(model.to(device), placed, training, **run)
        return model.cpu(), result

    def trial(graph: Data) -> float:
        short = replace(training, epochs=min(TRIAL_EPOCHS, training.epochs), self_training=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the training that follows warns
            return trial_loss(trained(graph, short)[1])

    can_try = can_try and getattr(settings, "model", "") in ON_GRAPHS
    unit = choose_unit(settings.edge_weights, data, can_try, trial)
    return *trained(in_units(data, unit), training, **run), unit
