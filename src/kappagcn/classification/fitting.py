"""`fit`: train a node classifier on a graph and its split, with a strategy; checks of labels and split."""

from __future__ import annotations

import warnings
from typing import Any, Protocol, Unpack

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.classification.task import NodeClassification, SelfTraining
from kappagcn.errors import ConfigError, PrecisionWarning
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training.run import RunOptions, TrainingResult, run_task
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.tasks import check_graph
from kappagcn.training.trainer import Trainer


def check_labels(data: Data) -> None:
    """Refuse labels that are not one class per node."""
    y, nodes = data.get("y"), data.num_nodes
    if not isinstance(y, Tensor) or y.shape != (nodes,) or y.dtype != torch.int64:
        form = f"{y.dtype} {tuple(y.shape)}" if isinstance(y, Tensor) else type(y).__name__
        raise ConfigError(f"expected one class per node, data.y ({nodes},) of int64, found {form}.")


def check_training(model: NodeClassifier, data: Data, split: Split) -> None:
    """Refuse a graph, labels or split that the network cannot be trained on."""
    check_graph(model, data)
    if not isinstance(split, Split):
        raise ConfigError(
            f"expected a Split, such as random_split(data.y, seed=0), or None for data's masks, found "
            f"{type(split).__name__}."
        )
    check_labels(data)
    split.check(data.x.shape[0])
    y, classes = data.y, model.options.get("num_classes")
    if classes is None:
        raise ConfigError("expected a network with classes, found num_classes=None.")
    known = {"train": split.train, "stopping": split.stopping, "validation": split.validation}
    for name, nodes in known.items():
        if len(nodes) and int(y[nodes].min()) < 0:
            unlabelled = int((y[nodes] < 0).sum())
            raise ConfigError(f"expected a class for every {name} node, found {unlabelled} without one.")
    largest = max(int(y[nodes].max()) for nodes in known.values() if len(nodes))
    if largest >= classes:
        raise ConfigError(f"expected classes 0 to {classes - 1}, as the network has, found {largest}.")
    missing = sorted(set(range(classes)) - set(y[split.train].tolist()))
    if not missing:
        return
    problem = f"expected training nodes of all {classes} classes, found none of class {', '.join(map(str, missing))}"
    if len(missing) > classes - 2:
        raise ConfigError(f"{problem}. Add some, or leave the class out.")
    warnings.warn(f"{problem}, which is then never predicted.", UserWarning, stacklevel=3)


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
    about = {"model": model.name, "options": model.options, "split": split.name}
    tested = () if run.get("folder") is None else (split.final_test_nodes(),)  # only a run that can be resumed asks
    tensors = {
        "nodes": (split.train, split.stopping, split.validation, *tested),
        "data": (data.x, data.edge_index, data.get("edge_weight"), split.training_view(data).y),  # no test labels
    }
    result = run_task(trainer, model, about, tensors, **run)
    result.capped_rows = task.capped_rows()
    if result.capped_rows:
        warnings.warn(
            f"{result.capped_rows} rows lie farther out than {model.options['space']} resolves in float64 and "
            "were taken as just inside; scale the features (TangentFeatures, PointFeatures).",
            PrecisionWarning,
            stacklevel=2,
        )
    return result
