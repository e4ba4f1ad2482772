"""Torch has one thread while estimators work on small graphs, and all of them for large ones."""

import math

import pytest
import torch
from torch_geometric.data import Data

from kappagcn import GraphEmbedder, KappaGCNClassifier, KappaGCNLinkPredictor
from kappagcn.graphs import disease
from kappagcn.kernels.dispatch import torch_only
from kappagcn.training.resources import SMALL, threads_for_graph, threads_for_pairs
from kappagcn.training.trainer import Trainer


@pytest.fixture(autouse=True)
def two_threads(set_torch_threads):
    set_torch_threads(2)


def threads_in(context):
    with context:
        return torch.get_num_threads()


def test_the_largest_array_of_a_step_decides():
    edges = torch.zeros(2, 10, dtype=torch.long)
    assert threads_in(threads_for_graph(Data(edge_index=edges, num_nodes=100))) == 1
    assert threads_in(threads_for_graph(Data(edge_index=edges, num_nodes=SMALL // 32))) == 2
    assert threads_in(threads_for_graph(Data(edge_index=edges.repeat(1, SMALL // 10 + 1), num_nodes=100))) == 2
    wide = torch.ones(100, SMALL // 100 + 1)
    assert threads_in(threads_for_graph(Data(x=wide, edge_index=edges))) == 2
    sparse = torch.eye(100).to_sparse()
    assert threads_in(threads_for_graph(Data(x=sparse, edge_index=edges, num_nodes=100))) == 1


def test_all_pairs_count_where_torch_computes_them():
    data = Data(num_nodes=math.isqrt(SMALL) + 1)
    with torch_only():
        assert threads_in(threads_for_pairs(data)) == 2
        assert threads_in(threads_for_pairs(Data(num_nodes=100))) == 1


@pytest.mark.parametrize("estimator", [GraphEmbedder, KappaGCNClassifier, KappaGCNLinkPredictor])
def test_estimators_train_with_one_thread(estimator, monkeypatch):
    threads, run_epoch = [], Trainer.run_epoch

    def counted(self):
        threads.append(torch.get_num_threads())
        return run_epoch(self)

    monkeypatch.setattr(Trainer, "run_epoch", counted)
    estimator("H2", epochs=2, verbose=False).fit(disease(60))
    assert set(threads) == {1}
    assert torch.get_num_threads() == 2
