"""Whether a node's own features are kept apart from its neighbours', by a rule on training and stopping nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.graphs import Split
from kappagcn.graphs.io.node_data import from_tensor
from kappagcn.graphs.measures.homophily import is_heterophilous

__all__ = ["keep_apart"]

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
