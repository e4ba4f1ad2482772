"""One rank's rows of a matrix: products are those of the whole matrix."""

import pytest
import torch

from kappagcn.distributed import Communicator
from kappagcn.distributed.matrix import cut
from kappagcn.errors import GraphError
from kappagcn.graphs import torus
from kappagcn.sparse import normalized_adjacency
from ranks_in_threads import run_ranks

GRAPH = torus(60, seed=1)
MATRIX = normalized_adjacency(GRAPH.edge_index, None, 60, dtype=torch.float64)
OWNER = torch.arange(60) % 2
X = torch.randn(60, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_rows_of_all_ranks_are_the_product_with_the_whole_matrix():
    def product(ranks):
        nodes, part = cut(MATRIX, OWNER, ranks)
        return nodes, part.product(X[nodes])

    whole = MATRIX.product(X)
    for nodes, rows in run_ranks(product):
        assert torch.allclose(rows, whole[nodes], atol=1e-12)


def test_a_sampled_halo_is_unbiased_and_smaller():
    def product(ranks):
        nodes, part = cut(MATRIX, OWNER, ranks)
        generator = torch.Generator().manual_seed(ranks.rank)
        total, widths = torch.zeros(len(nodes), 3, dtype=torch.float64), set()
        for _ in range(200):
            torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))
            sampled = part.sampled(0.5)
            widths.add(sampled.shape[1])
            total += sampled.product(X[nodes]) / 200
        return nodes, total, min(widths) < part.shape[1]

    whole = MATRIX.product(X)
    for nodes, mean, smaller in run_ranks(product):
        assert smaller
        assert torch.allclose(mean, whole[nodes], atol=0.25)


def test_one_process_owns_all_rows_and_refuses_others():
    nodes, part = cut(MATRIX, torch.zeros(60, dtype=torch.long), Communicator())
    assert nodes.tolist() == list(range(60))
    assert torch.allclose(part.product(X), MATRIX.product(X), atol=1e-12)
    with pytest.raises(GraphError, match=r"expected the \(60, D\) rows of this rank"):
        part.check(X[:10])
