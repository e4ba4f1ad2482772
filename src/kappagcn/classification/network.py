"""From settings to the network of a classifier and its features; settings that depend on the features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.classification.fitting import Strategy, fit
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import GraphError
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import Split
from kappagcn.graphs.datasets.preprocess import column_statistics
from kappagcn.graphs.io.node_data import are_words, from_tensor
from kappagcn.graphs.measures.homophily import is_heterophilous
from kappagcn.models import NodeClassifier, build_model
from kappagcn.nn.features import point_features, tangent_features
from kappagcn.training import networks
from kappagcn.training.run import TrainingResult

Array = NDArray[Any]
SAMPLE = 500  # training and stopping nodes that the comparison takes


def keep_apart(data: Data, split: Split) -> bool:
    """Whether own features predict the class better than those of the neighbours.

    True if edges between training and stopping nodes are heterophilous, and ridge regression on own features classifies
    more stopping nodes correctly than on the mean over a node and its neighbours. Heterophily alone is not enough: the
    features of neighbours of other classes may still determine the class of a node. Training nodes alone have too few
    edges between them in small graphs.

    Args:
        data: The graph with features as the network takes them, and classes.
        split: Training and stopping nodes.
    """
    if not len(split.stopping) or not is_heterophilous(data, torch.cat([split.train, split.stopping])):
        return False
    generator = torch.Generator().manual_seed(0)
    train, stopping = (
        nodes[torch.randperm(len(nodes), generator=generator)[:SAMPLE]].numpy()
        for nodes in (split.train, split.stopping)
    )
    y, x = data.y.numpy(), data.x.numpy() if data.x.layout == torch.strided else from_tensor(data.x)
    first, second = data.edge_index.numpy()
    ones = np.ones(len(first))
    adjacency = sp.csr_array((ones, (first, second)), shape=(data.num_nodes,) * 2) + sp.eye_array(data.num_nodes)
    mean = sp.diags_array(1 / adjacency.sum(axis=1)) @ adjacency
    own, around = (
        _accuracy(_dense(rows(train)), _dense(rows(stopping)), y[train], y[stopping])
        for rows in (lambda nodes: x[nodes], lambda nodes: mean.tocsr()[nodes] @ x)
    )
    return own > around


def _dense(rows: Any) -> Array:
    array: Array = np.asarray(rows.todense() if sp.issparse(rows) else rows, np.float64)
    return array


def _accuracy(x: Array, others: Array, y: Array, truth: Array) -> float:
    """Accuracy of ridge regression from rows x to classes y on other rows; penalty: mean square length of rows."""
    centre, classes = x.mean(axis=0), np.unique(y)
    x, others = x - centre, others - centre
    gram, targets = x @ x.T, (y[:, None] == classes).astype(float)
    penalty = max(float(np.trace(gram)) / len(gram), np.finfo(float).tiny)
    weights = np.linalg.solve(gram + penalty * np.eye(len(gram)), targets - targets.mean(axis=0))
    scores = others @ x.T @ weights + targets.mean(axis=0)
    return float((classes[scores.argmax(axis=1)] == truth).mean())


LABELS_PER_FEATURE = 10  # the rule of thumb of one in ten


def feature_statistics(settings: ClassificationSettings, x: Tensor) -> tuple[Tensor, Tensor] | None:
    """Means and deviations of the columns that `prepare_features` needs; None for other normalisations."""
    return column_statistics(networks.as_dense(x)) if settings.feature_norm == "columns" else None


def check_like_fitted(data: Data, in_channels: int, names: list[str] | None, *, is_weighted: bool) -> None:
    """Refuse a graph whose features or weights are not those of the fitted graph."""
    width = "none" if data.get("x") is None else data.x.shape[1]
    if width != in_channels:
        raise GraphError(f"expected {in_channels} features, as in fit, found {width}.")
    differ = [pair for pair in zip(names or (), data.get("attr_names") or (), strict=False) if pair[0] != pair[1]]
    if differ:
        raise GraphError(f"expected the feature {differ[0][0]!r}, as in fit, found {differ[0][1]!r} in its place.")
    if is_weighted and data.get("edge_weight") is None:
        raise GraphError(
            "expected a graph with edge weights, as in fit, found none. Name their column: --weight, or weight= of "
            "load_graph."
        )


def resolved(settings: ClassificationSettings, x: Tensor, labels: int) -> ClassificationSettings:
    """Settings with every "auto" replaced by a value that depends on the features and on the number of labels.

    A network learns measurements by heart where there are fewer than ten labels for a feature, and needs dropout.

    >>> [resolved(ClassificationSettings(), torch.randn(500, 12), labels).dropout for labels in (60, 300)]
    [0.5, 0.0]
    """
    words = are_words(x)
    has_few = not words and labels < LABELS_PER_FEATURE * x.shape[1]
    values: dict[str, Any] = networks.regularisation(words or has_few)
    values |= {"input_dropout": 0.5 if has_few else 0.0, "feature_norm": networks.default_normalization(x)}
    return networks.with_resolved(ClassificationSettings, settings, values)


def decide_self_features(
    settings: ClassificationSettings, data: Data, split: Split, has_features: bool
) -> ClassificationSettings:
    """Settings with `self_features` on or off; "auto" is on where own features predict better than the neighbours'."""
    if settings.self_features != "auto":
        return settings
    return replace(settings, self_features="on" if has_features and keep_apart(data, split) else "off")


def network_options(settings: ClassificationSettings) -> dict[str, Any]:
    """Arguments of a network, except the numbers of features and classes.

    >>> network_options(ClassificationSettings("H8(-0.5)", model="hgcn", dropout=0.1))["curvature"]
    -0.5
    """
    options = networks.network_options(settings)
    if "space" in options:
        options["relative"] = True  # curvatures in units of the rows
    if settings.model == "kappa-gcn":
        options["self_features"] = settings.self_features == "on"
    return options


def build_network(settings: ClassificationSettings, in_channels: int, num_classes: int) -> NodeClassifier:
    """The network with new weights.

    >>> build_network(ClassificationSettings("H8", dropout=0.1, input_dropout=0.0), 10, 2).options["space"]
    'H8'
    """
    options = network_options(settings)
    return build_model(settings.model, in_channels=in_channels, num_classes=num_classes, **options)


def prepare_features(
    settings: ClassificationSettings, x: Tensor, statistics: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Features for the network; `statistics` are the column means and deviations of the fitted graph."""
    x = networks.normalized_features(settings.feature_norm, x, statistics)
    if settings.feature_map == "points":
        kappas = [factor.kappa for factor in parse_signature(settings.space, start=networks.START)]
        x = point_features(x, kappas, split=settings.split_input)
    return tangent_features(x, scale=settings.feature_scale)


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
    """A new network, trained; how, and the unit of edge weights that is better on the stopping nodes."""

    def lowest_loss(result: TrainingResult) -> float:
        return float(min(record["stopping_loss"] for record in result.history))

    return networks.train_network(
        settings,
        data,
        training=settings.training(random_state=seed),
        device=device,
        build=lambda graph: build_network(settings, graph.num_features, classes),
        fit=lambda model, graph, training, **run: fit(model, graph, split, training, strategy=strategy, **run),
        trial_loss=lowest_loss,
        can_try=len(split.stopping) > 0,
        run=run,
    )
