"""One way to train a node classifier: a network, a graph with its split, and a strategy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from torch_geometric.data import Data

from kappagcn.errors import PrecisionWarning, TrainingError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training.checks import check_graph, check_training
from kappagcn.training.config import TrainingConfig
from kappagcn.training.run import CHECKPOINT_SECONDS, Callback, TrainingResult, run_identity, run_training
from kappagcn.training.tasks import NodeClassification
from kappagcn.training.trainer import Trainer

__all__ = ["FullGraph", "Strategy", "fit"]


class Strategy(Protocol):
    """How the graph takes part in a training step: as a whole, by mini-batches, or partitioned among processes.

    >>> from kappagcn.training import MiniBatch
    >>> MiniBatch(batch_size=100).batch_size
    100
    """

    def trainer(self, model: NodeClassifier, data: Data, split: Split, config: TrainingConfig) -> Trainer:
        """The trainer of a network, with its task."""

    def identity(self, trainer: Any) -> dict[str, Any]:
        """What, beside network, data and configuration, must be the same for a run to be resumed."""

    def capped_rows(self, trainer: Any) -> int:
        """Number of rows that lie farther out than the precision resolves."""


class FullGraph:
    """Every step takes the whole graph.

    >>> FullGraph().identity(None)
    {}
    """

    def trainer(self, model: NodeClassifier, data: Data, split: Split, config: TrainingConfig) -> Trainer:
        """A trainer on the whole graph."""
        return Trainer(model, NodeClassification(model, data, split), config, regularised=model.first_layer())

    def identity(self, trainer: Any) -> dict[str, Any]:
        """Nothing more."""
        return {}

    def capped_rows(self, trainer: Any) -> int:
        """Number of rows of all layers that lie farther out than the precision resolves."""
        return int(trainer.model.capped_rows(trainer.task.x, trainer.task.adjacency))


def fit(
    model: NodeClassifier,
    data: Data,
    split: Split | None = None,
    config: TrainingConfig | None = None,
    *,
    strategy: Strategy | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> TrainingResult:
    """Train a node classifier; at the end it holds the weights of its best epoch.

    Labels of test nodes are hidden before training starts; `kappagcn.training.final_evaluation` looks at them.

    Args:
        model: The network, with the weights to start from.
        data: The graph, with features, edges and classes.
        split: Which nodes are for what; by default from the masks of `data`.
        config: Epochs, patience, learning rates, regularisation and seed.
        strategy: `FullGraph` by default; `MiniBatch` or `Partitioned` for larger graphs.
        folder: Run directory; None to keep nothing.
        resume: Continue the run in `folder`, if there is one, to the same numbers as without the interruption.
        callbacks: Called with each epoch's numbers.
        checkpoint_seconds: Time between checkpoints.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.nn import TangentFeatures
    >>> data = TangentFeatures(scale=0.1)(disease(200))
    >>> result = fit(KappaGCN(10, 2, "H4"), data, random_split(data.y, 0), TrainingConfig(epochs=5))
    >>> result.epochs
    5
    """
    config = TrainingConfig() if config is None else config
    if not isinstance(config, TrainingConfig):
        raise TrainingError(f"config: expected a TrainingConfig, found {type(config).__name__}.")
    strategy = FullGraph() if strategy is None else strategy
    check_graph(model, data)
    split = Split.from_masks(data) if split is None else split
    check_training(model, data, split)
    trainer = strategy.trainer(model, data, split, config)
    about: dict[str, Any] = {}
    if folder is not None:
        about = {**run_identity(model, data, split, config), **strategy.identity(trainer)}
    options: dict[str, Any] = {"resume": resume, "callbacks": callbacks, "checkpoint_seconds": checkpoint_seconds}
    result = run_training(trainer, folder, about, **options)
    result.capped_rows = strategy.capped_rows(trainer)
    if result.capped_rows:
        warnings.warn(
            f"{result.capped_rows} rows lie farther out than {model.options['space']} resolves in float64 and "
            "were taken as just inside; scale the features (TangentFeatures, PointFeatures).",
            PrecisionWarning,
            stacklevel=2,
        )
    return result
