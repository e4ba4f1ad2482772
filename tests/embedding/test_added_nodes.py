"""Run folders with nodes that came later."""

import networkx as nx
import numpy as np
import pytest

from kappagcn import GraphEmbedder
from kappagcn.embedding.added_nodes import add_nodes
from kappagcn.errors import CheckpointError, GraphError
from kappagcn.graphs import from_networkx
from kappagcn.run_folder import SavedRun


@pytest.fixture
def run(tmp_path):
    graph = nx.relabel_nodes(nx.path_graph(6), dict(enumerate("abcdef")))
    GraphEmbedder("E2", epochs=100, verbose=False).fit(graph, folder=tmp_path / "run")
    return tmp_path / "run"


def test_nodes_are_matched_by_name(run, tmp_path):
    summary = add_nodes(run, from_networkx(nx.Graph([("f", "g"), ("g", "h")])), tmp_path / "more")
    old, new = SavedRun(run).embedded, SavedRun(tmp_path / "more").embedded
    assert summary["added_nodes"] == 2
    assert summary["added_d_avg"] < 0.05
    assert new.names.tolist() == list("abcdefgh")
    assert np.array_equal(new.points[:6], old.points)
    assert len(new.edges) == 7
    ends = 2 * np.linalg.norm(new.tangent[0] - new.tangent[7])
    assert ends == pytest.approx(7, rel=0.05)


def test_lengths_are_asked_for_as_in_the_run(run, tmp_path):
    weighted = nx.Graph()
    weighted.add_edge("f", "g", weight=2.0)
    weighted.add_edge("f", "h", weight=3.0)
    with pytest.raises(GraphError, match="expected edges with no lengths as in the run, found lengths"):
        add_nodes(run, from_networkx(weighted), tmp_path / "more")


def test_a_folder_with_files_is_not_touched(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="expected a new folder"):
        add_nodes(run, from_networkx(nx.Graph([("f", "g")])), tmp_path / "mine")


def test_a_graph_without_new_nodes_is_refused(run, tmp_path):
    with pytest.raises(GraphError, match=r"expected nodes that .* does not have"):
        add_nodes(run, from_networkx(nx.Graph([("a", "b")])), tmp_path / "more")
