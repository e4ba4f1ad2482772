"""From settings and a graph to a link predictor: its inputs, its encoder, its training configuration."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.classification.network import default_normalization, start_space
from kappagcn.errors import GraphError
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import EdgeSplit, normalize_rows, standardize_columns
from kappagcn.graphs.io.node_data import are_words, as_features, from_tensor, one_hot
from kappagcn.links.fitting import fit_links
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.models import FreePoints, LinkPredictor, build_model
from kappagcn.nn.features import tangent_features
from kappagcn.training.edge_weights import TRIAL_EPOCHS, choose_unit, in_units
from kappagcn.training.run import TrainingResult
from kappagcn.training.settings import ON_GRAPHS, TrainingSettings
from kappagcn.training.trainer import seeded

__all__ = [
    "build_link_predictor",
    "link_inputs",
    "resolved_links",
    "train_links",
]

WORDS = {"input_dropout": 0.5, "l2": 5e-4}
OTHERS = {"input_dropout": 0.0, "l2": 0.0}


def resolved_links(settings: LinkPredictionSettings, x: Tensor | None) -> LinkPredictionSettings:
    """Settings with every "auto" resolved by the features, and initial curvatures filled in.

    >>> resolved_links(LinkPredictionSettings("H8"), None).inputs
    'identity'
    """
    plain = LinkPredictionSettings(
        **{each.name: getattr(settings, each.name) for each in fields(LinkPredictionSettings)}
    )
    inputs = plain.inputs
    if inputs == "auto":
        inputs = "identity" if x is None else "features"
    if x is None and inputs in ("features", "both"):
        raise GraphError(f"inputs: expected a graph with features for {inputs!r}, found one without.")
    if x is None and plain.feature_norm not in ("auto", "none"):
        raise GraphError(f"feature_norm: expected auto for a graph without features, found {plain.feature_norm!r}.")
    words = x is not None and inputs != "identity" and are_words(x)
    norm = "none" if x is None or inputs == "identity" else default_normalization(x)
    chosen: dict[str, Any] = {**(WORDS if words else OTHERS), "feature_norm": norm}
    chosen = {name: value for name, value in chosen.items() if getattr(plain, name) == "auto"}
    return replace(plain, **chosen, inputs=inputs, space=start_space(plain.space))


def link_inputs(settings: LinkPredictionSettings, data: Data) -> Tensor:
    """Input features of the network, (N, D), from resolved settings."""
    if settings.inputs == "identity":
        return one_hot(data.num_nodes)
    x: Tensor = data.x
    if settings.feature_norm in ("rows", "lengths"):
        x = normalize_rows(x, order=1 if settings.feature_norm == "rows" else 2)
    elif settings.feature_norm == "columns":
        x = standardize_columns(x.to_dense() if x.layout != torch.strided else x)
    if settings.inputs == "both":
        columns = sp.csr_array(from_tensor(x))
        identity = sp.eye_array(data.num_nodes, dtype=np.float32, format="csr")
        x = as_features(sp.hstack([columns, identity]).tocsr(), sparse=True).float()
    return tangent_features(x)


def build_link_predictor(settings: LinkPredictionSettings, in_channels: int, num_nodes: int) -> LinkPredictor:
    """A link predictor with new weights, from resolved settings.

    >>> model = build_link_predictor(resolved_links(LinkPredictionSettings("H4", model="gcn"), None), 9, 9)
    >>> type(model.encoder).__name__, model.manifold.signature
    ('GCN', 'E4')
    """
    decoder: dict[str, Any] = {"decoder": settings.decoder, "train_decoder": settings.train_decoder}
    factors = parse_signature(settings.space)
    if settings.model == "free":
        return LinkPredictor(FreePoints(num_nodes, settings.space), **decoder)
    options: dict[str, Any] = {"in_channels": in_channels, "num_classes": None, "num_layers": settings.num_layers}
    options |= {"dropout": settings.dropout, "input_dropout": settings.input_dropout}
    if settings.model == "kappa-gcn":
        options["space"] = settings.space
    else:
        options["hidden_channels"] = sum(factor.dim for factor in factors)
    if settings.model == "hgcn":
        options["curvature"] = min(factors[0].kappa, -1e-3)
    if settings.model != "mlp":
        options["adjacency_norm"] = settings.adjacency_norm
    return LinkPredictor(build_model(settings.model, **options), **decoder)


def train_links(
    settings: LinkPredictionSettings,
    data: Data,
    split: EdgeSplit,
    *,
    seed: int,
    device: torch.device,
    run: Mapping[str, Any],
    **options: Any,
) -> tuple[LinkPredictor, TrainingResult, float | None]:
    """A new predictor, trained on a device and then on the CPU; how, and the unit of edge weights by `choose_unit`."""

    def fitted(graph: Data, config: TrainingSettings, **run: Any) -> tuple[LinkPredictor, TrainingResult]:
        with seeded(seed):
            model = build_link_predictor(settings, graph.num_features, graph.num_nodes)
        placed = graph if device.type == "cpu" else copy(graph).to(device)
        result = fit_links(model.to(device), placed, split, config, **options, **run)
        return model.cpu(), result

    def trial(graph: Data) -> float:
        result = fitted(graph, replace(config, epochs=min(TRIAL_EPOCHS, config.epochs)))[1]
        return -float(result.best["validation_auc"])

    config = settings.training(random_state=seed)
    unit = choose_unit(settings.edge_weights, data, settings.model in ON_GRAPHS, trial)
    return *fitted(in_units(data, unit), config, **run), unit
