"""From settings and a graph to a link predictor: its inputs, its encoder, its training configuration."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.estimators.network import are_words, default_normalization, start_space
from kappagcn.estimators.settings import LinkPredictionSettings
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import normalize_rows, standardize_columns
from kappagcn.graphs.io.node_data import as_features, from_tensor, one_hot
from kappagcn.models import FreePoints, LinkPredictor, build_model
from kappagcn.nn.features import tangent_features
from kappagcn.training import TrainingConfig

__all__ = ["build_link_predictor", "link_inputs", "link_training", "readable_features", "resolved_links"]

WORDS = {"input_dropout": 0.5, "l2": 5e-4}
OTHERS = {"input_dropout": 0.0, "l2": 0.0}
FULL = 0.2  # share of non-zero entries from which features count as dense


def readable_features(x: Tensor | None) -> Tensor | None:
    """Features as float32; sparse tensors with mostly non-zero entries become dense.

    >>> readable_features(torch.ones(2, 3).to_sparse_csr()).layout
    torch.strided
    """
    if x is None:
        return None
    filled = x.layout == torch.sparse_csr and len(x.values()) > FULL * x.numel()
    return (x.to_dense() if filled else x).float()


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


def link_training(settings: LinkPredictionSettings, seed: int) -> TrainingConfig:
    """Training configuration of the settings."""
    names = ("epochs", "patience", "lr", "curvature_lr", "l2")
    return TrainingConfig(**{name: getattr(settings, name) for name in names}, seed=seed)
