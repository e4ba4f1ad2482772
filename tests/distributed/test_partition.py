"""Parts of a graph: balanced, none empty, METIS cuts few edges."""

import pytest
import torch

from kappagcn.distributed import partition
from kappagcn.errors import GraphError
from kappagcn.graphs import torus


def test_parts_are_balanced_and_metis_cuts_less():
    graph = torus()
    cuts = {}
    for method in ("metis", "hash"):
        owner = partition(graph.edge_index, 1000, 4, method=method)
        assert torch.bincount(owner).max() <= 1.1 * 250
        cuts[method] = int((owner[graph.edge_index[0]] != owner[graph.edge_index[1]]).sum())
        assert torch.equal(owner, partition(graph.edge_index, 1000, 4, method=method))
    assert cuts["metis"] < 0.5 * cuts["hash"]


def test_small_graphs_leave_no_worker_without_a_node():
    edges = torch.tensor([[0, 1], [1, 0]])
    assert partition(edges, 5, 4).unique().tolist() == [0, 1, 2, 3]
    assert partition(edges, 5, 1).unique().tolist() == [0]


@pytest.mark.parametrize(("parts", "method"), [(0, "auto"), (6, "auto"), (2, "magic")])
def test_impossible_partitions_are_refused(parts, method):
    with pytest.raises(GraphError, match="expected"):
        partition(torch.tensor([[0, 1], [1, 0]]), 5, parts, method=method)
