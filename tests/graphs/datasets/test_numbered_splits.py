"""Labelled graphs with their splits."""

import numpy as np
import pytest
import torch

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import GraphError
from kappagcn.graphs.datasets.graph_dataset import load_benchmark
from kappagcn.paper import Experiment, Job, run
from random_graphs import data_folder, needs_data

CURVED = Experiment(
    "disease",
    "kappa-gcn",
    ClassificationSettings("H3xS2", feature_norm="columns", dropout=0.3, l2=0.0, self_features="off", epochs=12),
)


def test_splits_for_choosing_and_for_reporting_share_test_nodes_only():
    benchmark = load_benchmark("disease")
    chosen, reported = benchmark.numbered_split(0, "validation"), benchmark.numbered_split(0)
    assert torch.equal(chosen.final_test_nodes(), reported.final_test_nodes())
    assert not torch.equal(chosen.train, reported.train)
    assert len({tuple(benchmark.numbered_split(i).train.tolist()) for i in range(5)}) == 5


def test_a_graph_without_labels_is_refused():
    with pytest.raises(GraphError, match="expected a graph with labels"):
        load_benchmark("tree")


def test_splits_that_are_not_there_are_refused():
    with pytest.raises(GraphError, match="expected a split from 0 to 19, found 20"):
        run(Job(CURVED, 20))
    with pytest.raises(GraphError, match="found 'testing'"):
        run(Job(CURVED, 0, 0, "testing"))


@needs_data
def test_airport_comes_undivided_and_graphs_without_features_as_they_are():
    data_root = data_folder()
    airport = load_benchmark("airport", data_root)[0]
    feat = np.asarray(airport.feat)
    np.testing.assert_allclose(airport.x[:, :4], feat, rtol=1e-6)
    assert set(airport.x[:, 4:].unique().tolist()) == {0.0, 1.0}
    assert load_benchmark("airports_usa", data_root)[0].get("x") is None
    public = load_benchmark("actor", data_root)
    with pytest.raises(GraphError, match="validation nodes of one are test nodes of another"):
        public.numbered_split(0, "validation")
    with pytest.raises(GraphError, match="expected a split from 0 to 9"):
        public.numbered_split(10)
    assert [public.numbered_split(i).name for i in range(2)] == ["actor public 0", "actor public 1"]
