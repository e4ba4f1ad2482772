"""From settings and a graph to a trained network, and its use of edge weights: what classification and links share."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
from kappagcn.training.run import TrainingResult
from kappagcn.training.setting_field import idle_reason
from kappagcn.training.settings import ON_GRAPHS, NetworkSettings, TrainingSettings
from kappagcn.training.trainer import seeded

TRIAL_EPOCHS = 50
MANY = 100  # ratio of the largest weight to the median from which weights are called heavy-tailed
SettingsT = TypeVar("SettingsT", bound=NetworkSettings)
ModelT = TypeVar("ModelT", bound=nn.Module)
START = 0.1  # initial |κ| of networks whose curvature is not in units of their rows
CURVED = ("kappa-gcn", "appnp")  # networks that take a space; others take its dimension
# Settings that networks take as arguments, and their names there.
NAMES = ("num_layers", "dropout", "input_dropout", "dropconnect", "adjacency_norm", "adjacency_dropout", "split_input")
ARGUMENTS = {name: name for name in (*NAMES, "output", "alpha")} | {"propagation_steps": "steps"}


def unit_of(choice: str, weights: Tensor | None) -> float | None:
    """The number by which weights are divided; None where they are not used.

    ``"scaled"`` takes the median of the positive weights: self-loops, of weight 1, then count as a typical edge does.

    >>> import torch
    >>> unit_of("scaled", torch.tensor([100.0, 300.0, 200.0])), unit_of("raw", torch.ones(2)), unit_of("none", None)
    (200.0, 1.0, None)
    """
    if weights is None or choice == "none":
        return None
    positive = weights[weights > 0]
    return float(positive.median()) if choice != "raw" and len(positive) else 1.0


def in_units(data: Data, unit: float | None) -> Data:
    """The graph with its weights divided by a unit, or without them; `data` is not changed."""
    weights = data.get("edge_weight")
    if weights is None or unit == 1:
        return data
    scaled = copy(data)
    scaled.edge_weight = None if unit is None else weights / unit
    return scaled


def choose_unit(choice: str, data: Data, can_try: bool, trial: Callable[[Data], float]) -> float | None:
    """The unit of `unit_of`; for ``"auto"`` that of the better of two trials, with scaled weights and without.

    There is a choice where the network looks at weights and there are nodes or pairs to judge it by. `trial` trains on
    a graph for a while, and returns the loss on stopping nodes or validation pairs.
    """
    weights = data.get("edge_weight")
    unit = unit_of(choice, weights)
    alike = weights is None or not len(weights) or bool((weights == weights[0]).all())
    if choice != "auto" or alike or not can_try:
        return unit
    return unit if trial(in_units(data, unit)) <= trial(in_units(data, None)) else None


def usage(settings: Any, weights: Tensor | None, unit: float | None) -> str | None:
    """What a network does with the weights of a graph, in one line; None without weights, or if it has no use for them.

    >>> import torch
    >>> from kappagcn.classification.settings import ClassificationSettings
    >>> usage(ClassificationSettings(), torch.ones(3), None)
    'ignored: trials without them were better; --set edge-weights=scaled uses them'
    """
    if weights is None or settings.model not in ON_GRAPHS:
        return None
    choice, positive = settings.edge_weights, weights[weights > 0]
    ratio = float(positive.max() / positive.median()) if len(positive) else 1.0
    tails = f" (the largest is {ratio:,.0f} times the median)" if ratio >= MANY else ""
    if unit is None and choice == "none":
        return "ignored"
    if unit is None:
        return f"ignored: trials without them were better{tails}; --set edge-weights=scaled uses them"
    form = "used as they are" if choice == "raw" else f"used, in units of their median {unit:.3g}"
    return f"{form}{tails}" + ("; --set weights=false ignores them" if choice == "auto" else "")


def weights_of_runs(usages: Sequence[str | None]) -> str | None:
    """How several runs use edge weights, in one line.

    >>> weights_of_runs(["ignored: ...", "ignored: ...", "used"])
    'ignored: ... (in 2 of 3 runs)'
    """
    most, count = Counter(usages).most_common(1)[0]
    return most if most is None or count == len(usages) else f"{most} (in {count} of {len(usages)} runs)"


def regularisation(is_needed: bool, dropout: str = "dropout") -> dict[str, float]:
    """Dropout and L² for "auto"."""
    return {dropout: 0.5, "l2": 5e-4} if is_needed else {dropout: 0.0, "l2": 0.0}


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
        trial_loss: Loss of a trial, by which the unit of edge weights is chosen.
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
