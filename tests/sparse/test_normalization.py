"""Normalised adjacency matrices against the dense formulas and PyG's normalisation."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from graph_samples import DOUBLE, random_graph
from kappagcn.errors import GraphError
from kappagcn.sparse import bipartite_adjacency, normalized_adjacency


def normalized(dense, normalization):
    """D_out^-½ A D_in^-½ or D_out⁻¹ A, with 1/0 = 0."""
    rows, cols = dense.sum(1, keepdim=True), dense.sum(0, keepdim=True)
    if normalization == "row":
        return dense / rows.where(rows > 0, 1)
    if normalization == "symmetric":
        return dense / (rows.where(rows > 0, 1) * cols.where(cols > 0, 1)).sqrt()
    return dense


@given(st.sampled_from(["symmetric", "row", "none"]), st.booleans(), st.integers(0, 50))
def test_edges_between_two_sets_of_nodes(normalization, weighted, seed):
    generator = torch.Generator().manual_seed(seed)
    edges = torch.stack([torch.randint(n, (15,), generator=generator) for n in (7, 4)])
    weight = torch.rand(15, generator=generator, dtype=DOUBLE) + 0.1 if weighted else None
    dense = torch.zeros(4, 7, dtype=DOUBLE)
    dense.index_put_((edges[1], edges[0]), torch.ones(15, dtype=DOUBLE) if weight is None else weight, accumulate=True)
    matrix = bipartite_adjacency(edges, (7, 4), weight, normalization=normalization, dtype=DOUBLE)
    assert matrix.shape == (4, 7)
    assert torch.allclose(matrix.to_dense(), normalized(dense, normalization), atol=1e-12)


@given(st.booleans(), st.booleans(), st.integers(0, 50))
def test_the_symmetric_normalisation_is_pygs(weighted, add_self_loops, seed):
    edge_index, weight, _ = random_graph(12, 30, seed)
    weight = weight if weighted else None
    ours = normalized_adjacency(edge_index, weight, 12, add_self_loops=add_self_loops, dtype=DOUBLE)
    index, values = gcn_norm(edge_index, weight, 12, add_self_loops=add_self_loops, dtype=DOUBLE)
    theirs = torch.zeros(12, 12, dtype=DOUBLE).index_put((index[1], index[0]), values, accumulate=True)
    assert torch.allclose(ours.to_dense(), theirs, atol=1e-12)


def test_rows_sum_to_one_and_isolated_nodes_keep_themselves():
    matrix = normalized_adjacency(torch.tensor([[0], [1]]), num_nodes=3, normalization="row")
    assert torch.allclose(matrix.row_sums(), torch.ones(3))
    assert matrix.to_dense()[2].tolist() == [0, 0, 1]
    alone = normalized_adjacency(torch.tensor([[0], [1]]), num_nodes=3, add_self_loops=False)
    assert alone.to_dense()[2].tolist() == [0, 0, 0]


def test_self_loops_that_are_there_keep_their_weight():
    edges, weight = torch.tensor([[0, 0, 1], [0, 1, 0]]), torch.tensor([5.0, 2.0, 2.0])
    matrix = normalized_adjacency(edges, weight, normalization="none")
    assert matrix.to_dense().tolist() == [[5, 2], [2, 1]]


@pytest.mark.parametrize("normalization", ["symmetric", "row", "none"])
def test_it_compiles_to_the_same(normalization):
    """Under torch.compile self-loops are added without shapes that depend on values."""
    edge_index, weight, _ = random_graph(8, 20, 1)
    edge_index = torch.cat([edge_index, torch.tensor([[2, 5], [2, 5]])], 1)
    weight = torch.cat([weight, torch.tensor([3.0, 4.0], dtype=DOUBLE)])

    def dense(edge_index, weight):
        return normalized_adjacency(edge_index, weight, 8, normalization=normalization, dtype=DOUBLE).to_dense()

    compiled = torch.compile(dense, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(edge_index, weight), dense(edge_index, weight), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: normalized_adjacency(torch.tensor([[0], [5]]), num_nodes=3), "nodes from 0 to 2, found 0 to 5"),
        (lambda: normalized_adjacency(torch.tensor([[0, 1], [1, 0]]), torch.ones(3)), "one weight per edge"),
        (lambda: normalized_adjacency(torch.tensor([[0, 1], [1, 0]]), [1.0, 2.0]), "found list"),
        (lambda: normalized_adjacency(torch.rand(2, 3)), "edge_index as integers"),
        (lambda: normalized_adjacency(torch.zeros(3, 2).long()), r"integers \(2, E\), found \(3, 2\)"),
        (lambda: normalized_adjacency(torch.tensor([[0], [1]]), normalization="max"), "symmetric, row, none"),
        (lambda: bipartite_adjacency(torch.tensor([[0], [4]]), (3, 4)), "nodes from 0 to 3, found 4 to 4"),
    ],
)
def test_what_is_no_graph_is_named(call, words):
    with pytest.raises(GraphError, match=words):
        call()
