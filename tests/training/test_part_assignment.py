"""Parts of graphs on disk: balanced, none empty, few edges between them."""

import numpy as np
import pytest

from kappagcn.errors import GraphError
from kappagcn.graphs.io.edge_stream import EdgeStream
from kappagcn.graphs.io.external_sort import sort_edges
from kappagcn.training import part_assignment
from kappagcn.training.part_assignment import assign_parts, row_blocks

NODES, PARTS = 3000, 4


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """Blocks of nodes with edges inside, by number and shuffled; a tenth of the edges anywhere."""
    rng = np.random.default_rng(0)
    sources = rng.integers(NODES, size=15000)
    targets = sources // 300 * 300 + rng.integers(300, size=15000)
    strays = rng.random(15000) < 0.1
    targets[strays] = rng.integers(NODES, size=int(strays.sum()))
    order = rng.permutation(NODES)
    streams = {"ordered": (sources, targets), "shuffled": (order[sources], order[targets])}
    made = {}
    for name, ends in streams.items():
        folder = tmp_path_factory.mktemp(name)
        made[name] = sort_edges(EdgeStream.of_arrays(name, *ends), folder, num_nodes=NODES)
    return made


def test_blocks_of_rows_are_the_rows(graphs):
    graph = graphs["shuffled"]
    ends = np.cumsum(graph.degrees())
    whole, done = graph.indices().all(), 0
    for first, starts, neighbours, weights in row_blocks(graph, 50):
        assert first == done
        assert weights is None
        assert np.array_equal(neighbours, whole[ends[first] - starts[1] : ends[first] - starts[1] + len(neighbours)])
        done += len(starts) - 1
    assert done == NODES


@pytest.mark.parametrize(
    ("name", "method", "most"),
    [("ordered", "range", 0.25), ("ordered", "ldg", 0.3), ("shuffled", "ldg", 0.45), ("shuffled", "metis", 0.3)],
)
def test_parts_are_balanced_and_keep_neighbours_together(graphs, name, method, most):
    pytest.importorskip({"ldg": "numba", "metis": "pymetis"}.get(method, "numpy"))
    owner, used, cut = assign_parts(graphs[name], PARTS, method)
    assert used == method
    sizes = np.bincount(owner, minlength=PARTS)
    assert sizes.max() <= 1.15 * NODES / PARTS
    sources = np.repeat(np.arange(NODES), graphs[name].degrees())
    assert 2 * cut == int((owner[sources] != owner[graphs[name].indices().all()]).sum())
    assert cut < most * graphs[name].entries / 2
    assert np.array_equal(owner, assign_parts(graphs[name], PARTS, method)[0])


def test_auto_takes_the_better_one_where_metis_does_not_fit(graphs, monkeypatch):
    monkeypatch.setattr(part_assignment, "METIS_ENTRIES", 0)
    cuts = {name: assign_parts(graphs["ordered"], PARTS, name)[2] for name in ("range", "auto")}
    assert cuts["auto"] <= cuts["range"]
    monkeypatch.setattr(part_assignment, "compiled", lambda name: None)
    assert assign_parts(graphs["ordered"], PARTS)[1] == "range"
    with pytest.raises(GraphError, match="expected numba"):
        assign_parts(graphs["ordered"], PARTS, "ldg")


@pytest.mark.parametrize("method", ["range", "ldg", "metis"])
def test_no_part_is_empty(method, tmp_path):
    pytest.importorskip({"ldg": "numba", "metis": "pymetis"}.get(method, "numpy"))
    graph = sort_edges(EdgeStream.of_arrays("pair", np.array([0]), np.array([1])), tmp_path, num_nodes=5)
    assert np.unique(assign_parts(graph, 4, method)[0]).tolist() == [0, 1, 2, 3]


def test_one_part_is_all_and_an_unknown_method_is_refused(tmp_path):
    graph = sort_edges(EdgeStream.of_arrays("pair", np.array([0]), np.array([1])), tmp_path, num_nodes=5)
    assert assign_parts(graph, 1)[0].tolist() == [0] * 5
    with pytest.raises(GraphError, match="method: expected"):
        assign_parts(graph, 2, "magic")
