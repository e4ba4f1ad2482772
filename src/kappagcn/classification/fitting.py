"""`fit`: train a node classifier on a graph and its split, with a strategy."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Any, Protocol, Unpack

from torch_geometric.data import Data

from kappagcn.classification.checks import check_training
from kappagcn.classification.task import NodeClassification, SelfTraining
from kappagcn.errors import ConfigError, PrecisionWarning
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training.checkpoint import fingerprint
from kappagcn.training.checks import check_graph
from kappagcn.training.run import RunOptions, TrainingResult, run_training
from kappagcn.training.run_lock import locked
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer

__all__ = ["FullGraph", "Strategy", "fit"]


class Strategy(Protocol):
    """Strategy of `fit`: training steps on the whole graph, on mini-batches, or on a graph partitioned among processes.

    >>> from kappagcn.training import MiniBatch
    >>> MiniBatch(batch_size=100).batch_size
    100
    """

    def trainer(self, model: NodeClassifier, data: Data, split: Split, config: TrainingSettings) -> Trainer:
        """The trainer of a network, whose task is a `NodeClassification`."""


class FullGraph:
    """Strategy of `fit` whose steps take the whole graph.

    >>> strategy = FullGraph()  # as without a strategy: fit(model, data, split, strategy=strategy)
    """

    def trainer(self, model: NodeClassifier, data: Data, split: Split, config: TrainingSettings) -> Trainer:
        """A trainer on the whole graph."""
        task = (SelfTraining if config.self_training else NodeClassification)(model, data, split)
        return Trainer(model, task, config, regularised=model.first_layer())


def fit(
    model: NodeClassifier,
    data: Data,
    split: Split | None = None,
    config: TrainingSettings | None = None,
    *,
    strategy: Strategy | None = None,
    **run: Unpack[RunOptions],
) -> TrainingResult:
    """Train a node classifier; at the end it holds the weights of its best epoch.

    Labels of test nodes are hidden during training; `kappagcn.training.final_evaluation` uses them.

    Args:
        model: The network, with its initial weights.
        data: The graph, with features, edges and classes.
        split: Nodes for training, stopping and validation; by default from the masks of `data`.
        config: Epochs, patience, learning rates, regularisation and seed.
        strategy: `FullGraph` by default; `MiniBatch` or `Partitioned` for larger graphs.
        **run: Run folder, resuming, checkpoints and callbacks, see `run_training`.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.nn import TangentFeatures
    >>> data = TangentFeatures(scale=0.1)(disease(200))
    >>> result = fit(KappaGCN(10, 2, "H4"), data, random_split(data.y, 0), TrainingSettings(epochs=5))
    >>> result.epochs
    5
    """
    config = TrainingSettings() if config is None else config
    if not isinstance(config, TrainingSettings):
        raise ConfigError(f"config: expected a TrainingSettings, found {type(config).__name__}.")
    if split is None:
        check_graph(model, data)
        split = Split.from_masks(data)
    check_training(model, data, split)
    trainer = (strategy or FullGraph()).trainer(model, data, split, config)
    task: Any = trainer.task
    about = {} if run.get("folder") is None else {**_identity(model, data, split, config), **task.identity()}
    with locked(run.get("folder"), trainer.communicator):
        result = run_training(trainer, about, **run)
    result.capped_rows = task.capped_rows()
    if result.capped_rows:
        warnings.warn(
            f"{result.capped_rows} rows lie farther out than {model.options['space']} resolves in float64 and "
            "were taken as just inside; scale the features (TangentFeatures, PointFeatures).",
            PrecisionWarning,
            stacklevel=2,
        )
    return result


def _identity(model: NodeClassifier, data: Data, split: Split, config: TrainingSettings) -> dict[str, Any]:
    """Configuration that a resumed run must share; labels of test nodes stay hidden."""
    return {
        "model": model.name,
        "options": model.options,
        "dtype": str(next(model.parameters()).dtype),
        "training": asdict(config),
        "split": split.name,
        "nodes": fingerprint(split.train, split.stopping, split.validation, split.final_test_nodes()),
        "data": fingerprint(data.x, data.edge_index, data.get("edge_weight"), split.training_view(data).y),
    }
