import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from kappagcn import graphs as G
from kappagcn.errors import GraphError, KappaGCNError
from kappagcn.graphs import BUILT_IN, CLASSICS, classic, load_graph
from random_graphs import data_folder, needs_data


def test_built_in_graphs_take_no_tables():
    with pytest.raises(KappaGCNError, match="only beside a file"):
        G.load_graph("karate", features="x.csv")


@needs_data
def test_networkxs_karate_is_the_stored_one():
    with np.load(data_folder() / "karate.npz", allow_pickle=False) as stored:
        matrix = sp.csr_array((stored["adj_data"], stored["adj_indices"].astype(int), stored["adj_indptr"]))
    degrees = sorted(np.diff(matrix.indptr))
    assert sorted(classic("karate").edge_index[0].bincount().tolist()) == degrees


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_every_built_in_graph_loads_by_name(name):
    data = load_graph(name)
    assert data.num_nodes > 0
    assert data.name == name
    if name in CLASSICS:
        assert data.num_nodes == len(getattr(nx, CLASSICS[name])())


def test_classics_carry_labels_and_weights():
    karate = classic("karate")
    assert karate.y.bincount().tolist() == [17, 17]
    assert karate.edge_weight.max() > 1
    assert classic("les_miserables").node_names[0] == "Napoleon"
    with pytest.raises(GraphError, match="expected one of karate"):
        classic("zebra")
