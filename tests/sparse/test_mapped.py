"""The rows of a normalised adjacency that is computed when it is read."""

import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs import adjacency, torus
from kappagcn.sparse import MappedAdjacency, NeighbourSampler, normalized_adjacency

GRAPH = torus(50, seed=1)
MATRIX = adjacency(GRAPH)
WEIGHTS = 1 + torch.rand(GRAPH.num_edges, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SYMMETRIC = torch.zeros(50, 50, dtype=torch.float64).index_put(tuple(GRAPH.edge_index), WEIGHTS)
SYMMETRIC = SYMMETRIC + SYMMETRIC.T


def mapped(weighted):
    starts, columns = torch.from_numpy(MATRIX.indptr).long(), torch.from_numpy(MATRIX.indices)
    if not weighted:
        return MappedAdjacency(starts, columns), None
    weights = SYMMETRIC[tuple(GRAPH.edge_index)]
    return MappedAdjacency(starts, columns, weights, SYMMETRIC.sum(1)), weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("normalization", ["symmetric", "row", "none"])
@pytest.mark.parametrize("loop_weight", [None, 1.0, 2.0])
def test_rows_are_those_of_the_matrix_in_memory(weighted, normalization, loop_weight):
    rows, weights = mapped(weighted)
    loops = {"add_self_loops": loop_weight is not None, "loop_weight": loop_weight or 1.0}
    options = {"normalization": normalization, "dtype": torch.float64, **loops}
    whole = normalized_adjacency(GRAPH.edge_index, weights, 50, **options).to_dense()
    matrix = rows.normalized(normalization, loop_weight, torch.float64)
    local, columns, values = matrix.rows_between(10, 30)
    part = torch.zeros(20, 50, dtype=torch.float64).index_put((local, columns), values)
    torch.testing.assert_close(part, whole[10:30])
    sample = NeighbourSampler(matrix, (-1,)).sample(torch.tensor([7, 3]))
    dense = torch.zeros(2, 50, dtype=torch.float64)
    dense[:, sample.nodes] = sample.blocks[0].to_dense()
    torch.testing.assert_close(dense, whole[[7, 3]])


def test_draws_are_those_of_the_matrix_in_memory():
    rows, _ = mapped(False)
    whole = normalized_adjacency(GRAPH.edge_index, None, 50)
    seeds = torch.tensor([4, 20, 9])
    ours = NeighbourSampler(rows.normalized("symmetric", 1.0), (2, 3), seed=5).sample(seeds)
    theirs = NeighbourSampler(whole, (2, 3), seed=5).sample(seeds)
    assert torch.equal(ours.nodes, theirs.nodes)
    for one, other in zip(ours.blocks, theirs.blocks, strict=True):
        torch.testing.assert_close(one.to_dense(), other.to_dense())


def test_reads_are_counted_and_wrong_input_is_refused():
    counts = []
    starts, columns = torch.from_numpy(MATRIX.indptr).long(), torch.from_numpy(MATRIX.indices)
    rows = MappedAdjacency(starts, columns, on_read=counts.append).normalized("row", None)
    rows.values_at(torch.tensor([0, 0]), torch.tensor([0, 1]))
    assert counts == [2]
    with pytest.raises(GraphError, match="expected weights and strengths, or neither"):
        MappedAdjacency(starts, columns, torch.ones(len(columns)))
    with pytest.raises(GraphError, match="expected normalization"):
        rows.normalized("columns", 1.0)
