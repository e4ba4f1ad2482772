"""Distances of a graph as weights of pairs."""

import pytest
import torch

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.errors import GraphError
from kappagcn.graphs import path


def test_weights_are_inverse_squares_of_the_lengths():
    distances = GraphDistances.of(path(4))
    lengths = (torch.arange(4.0)[:, None] - torch.arange(4.0)).abs()
    assert torch.equal(distances.lengths.float(), lengths)
    assert torch.allclose(distances.weights, torch.where(lengths > 0, lengths, torch.inf) ** -2)
    assert (distances.pairs, distances.longest, distances.unreachable_pairs) == (12, 3.0, 0)
    assert distances.squares == float(lengths.square().sum())


def test_pairs_without_a_path_have_no_weight():
    lengths = torch.tensor([[0.0, 1, torch.inf], [1, 0, torch.inf], [torch.inf, torch.inf, 0]])
    distances = GraphDistances(lengths)
    assert (distances.pairs, distances.unreachable_pairs, distances.longest) == (2, 4, 1.0)
    assert not distances.weights[2].any()


def test_rows_of_sources_are_rows_of_all():
    whole, some = GraphDistances.of(path(5)), GraphDistances.of(path(5), [3, 1])
    assert torch.equal(some.weights, whole.weights[[3, 1]])
    assert some.row_norm("relative") == whole.row_norm("relative") == 4
    assert whole.row_norm("distortion") == 5


@pytest.mark.parametrize(
    ("lengths", "sources", "words"),
    [
        (torch.zeros(2, 2), None, "expected distances above 0 between different nodes"),
        (torch.zeros(1, 4), [0], "expected distances above 0 between different nodes"),
        (torch.tensor([[0.0, 1], [2, 0]]), None, "expected the same distance in both directions"),
        (torch.zeros(2, 3), None, r"expected distances \(N, N\), found \(2, 3\)"),
        (torch.ones(2, 4), [0, 1, 2], r"expected distances \(3, N\), found \(2, 4\)"),
    ],
)
def test_impossible_distances_are_refused(lengths, sources, words):
    with pytest.raises(GraphError, match=words):
        GraphDistances(lengths, None if sources is None else torch.tensor(sources))
