"""Checks of labels and split before a classifier is trained."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import ConfigError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training.checks import check_graph

__all__ = ["check_labels", "check_training"]


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
