"""From settings and a graph to a link predictor: its inputs and its encoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs import EdgeSplit
from kappagcn.graphs.io.node_data import are_words, as_features, from_tensor, one_hot
from kappagcn.links.fitting import fit_links
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.models import FreePoints, LinkPredictor, build_model
from kappagcn.nn.features import tangent_features
from kappagcn.training import networks
from kappagcn.training.run import TrainingResult

FLATTEST = -1e-3  # curvature of HGCN, whose space is hyperbolic, for a signature without a negative one


def resolved_links(settings: LinkPredictionSettings, x: Tensor | None) -> LinkPredictionSettings:
    """Settings with every "auto" resolved by the features, and initial curvatures filled in.

    >>> resolved_links(LinkPredictionSettings("H8"), None).inputs
    'identity'
    """
    inputs = settings.inputs
    if inputs == "auto":
        inputs = "identity" if x is None else "features"
    if x is None and inputs in ("features", "both"):
        raise GraphError(f"inputs: expected a graph with features for {inputs!r}, found one without.")
    if x is None and settings.feature_norm not in ("auto", "none"):
        raise GraphError(f"feature_norm: expected auto for a graph without features, found {settings.feature_norm!r}.")
    words = x is not None and inputs != "identity" and are_words(x)
    norm = "none" if x is None or inputs == "identity" else networks.default_normalization(x)
    values = networks.regularisation(words, dropout="input_dropout") | {"feature_norm": norm}
    chosen = networks.with_resolved(LinkPredictionSettings, settings, values)
    return replace(chosen, inputs=inputs, space=networks.start_space(settings.space))


def link_inputs(settings: LinkPredictionSettings, data: Data) -> Tensor:
    """Input features of the network, (N, D), from resolved settings."""
    if settings.inputs == "identity":
        return one_hot(data.num_nodes)
    x = networks.normalized_features(settings.feature_norm, data.x)
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
    if settings.model == "free":
        return LinkPredictor(FreePoints(num_nodes, settings.space), **decoder)
    options = networks.network_options(settings)
    if "curvature" in options:
        options["curvature"] = min(options["curvature"], FLATTEST)
    return LinkPredictor(build_model(settings.model, in_channels=in_channels, num_classes=None, **options), **decoder)


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
    """A new predictor, trained; how, and the unit of edge weights that is better on the validation pairs."""
    return networks.train_network(
        settings,
        data,
        training=settings.training(random_state=seed),
        device=device,
        build=lambda graph: build_link_predictor(settings, graph.num_features, graph.num_nodes),
        fit=lambda model, graph, training, **run: fit_links(model, graph, split, training, **options, **run),
        trial_loss=lambda result: -float(result.best["validation_auc"]),
        run=run,
    )
