"""Hits and mean reciprocal ranks by hand."""

import pytest

from kappagcn.links.metrics import hits_at, mean_reciprocal_rank


def test_hits_and_ranks():
    edges, others = [5.0, 3.0, 1.0], [4.0, 2.0]
    assert [hits_at(k, edges, others) for k in (1, 2, 3)] == pytest.approx([1 / 3, 2 / 3, 1])
    assert mean_reciprocal_rank(edges, others) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert mean_reciprocal_rank([1.0], [1.0]) == pytest.approx(1 / 1.5)
