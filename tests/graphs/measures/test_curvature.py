"""Curvature against its definition in fractions, closed forms, and itself from some anchors."""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import kappagcn.graphs.measures.curvature as curvature
from kappagcn.errors import GraphError
from kappagcn.graphs import (
    balanced_tree,
    clustering,
    cycle,
    largest_component,
    parallelogram_curvature,
    path,
    star,
    torus,
)
from random_graphs import GRAPHS, as_data, lengths, networks


def psi(d, m, b, c, a):
    am = Fraction(int(d[a, m]))
    return am / 2 + Fraction(int(d[b, c]) ** 2, 8) / am - Fraction(int(d[a, b]) ** 2 + int(d[a, c]) ** 2, 4) / am


def by_definition(graph):
    """ψ(m) as exact fractions, None where m has fewer than two neighbours."""
    d = lengths(graph)
    results = []
    for m in graph:
        others = [a for a in graph if a != m and d[a, m] > 0]
        values = [psi(d, m, b, c, a) for b, c in combinations(graph[m], 2) for a in others]
        results.append(sum(values) / len(values) if values else None)
    return results


@given(networks(least=2, most=10))
def test_exact_is_the_definition(graph):
    actual = parallelogram_curvature(as_data(graph))
    want = by_definition(graph)
    for ours, theirs in zip(actual.per_node.tolist(), want, strict=True):
        assert np.isnan(ours) if theirs is None else ours == pytest.approx(float(theirs), abs=1e-12)
    known = [value for value in want if value is not None]
    if known:
        assert actual.mean == pytest.approx(float(sum(known) / len(known)), abs=1e-12)
    else:
        assert np.isnan(actual.mean)
    assert actual.standard_error == 0


@pytest.mark.parametrize("n", [3, 5, 12, 100])
def test_a_line_is_flat(n):
    """a at t steps on the side of b: t/2 + 4/(8t) − ((t−1)² + (t+1)²)/(4t) = 0."""
    result = parallelogram_curvature(path(n))
    assert torch.allclose(result.per_node[1:-1], torch.zeros(n - 2, dtype=torch.float64), atol=1e-12)
    assert torch.isnan(result.per_node[[0, -1]]).all()


@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_in_a_tree_a_node_of_degree_q_has_minus_q_minus_2_over_q(n, random):
    """a lies behind one neighbour of m. If that is b or c the triple is a line, 0; otherwise d(a,b) = d(a,c) = t + 1
    and ψ = t/2 + 1/(2t) − (t+1)²/(2t) = −1. Of the pairs (b, c), the share (q−2)/q misses it."""
    tree = nx.Graph([(random.randrange(j), j) for j in range(1, n)])
    tree = nx.convert_node_labels_to_integers(tree, ordering="sorted")
    result = parallelogram_curvature(as_data(tree)).per_node
    for m, q in tree.degree:
        if q >= 2:
            assert float(result[m]) == pytest.approx(-(q - 2) / q, abs=1e-12)
        else:
            assert torch.isnan(result[m])


def test_the_papers_tree_and_star():
    assert float(parallelogram_curvature(star(3)).mean) == pytest.approx(-1 / 3)
    # Root of degree 4, 340 inner nodes of degree 5 (the leaves have no value).
    assert parallelogram_curvature(balanced_tree()).mean == pytest.approx(-(1 * 2 / 4 + 340 * 3 / 5) / 341)


@pytest.mark.parametrize("n", range(4, 30))
def test_cycles_are_positive_by_their_antipodes(n):
    """Only a opposite m bends: once for even n, where d(a,b) = d(a,c) = n/2 − 1 and ψ = 1; twice for odd n, where one
    of the two is (n−1)/2 and the other (n−3)/2, and ψ = n/(2(n−1)). Every other a sees a line."""
    want = 1 / (n - 1) if n % 2 == 0 else 2 / (n - 1) * n / (2 * (n - 1))
    assert parallelogram_curvature(cycle(n)).mean == pytest.approx(want, rel=1e-12)


def test_triangles_and_complete_graphs():
    """In K_n, d(b,c) = 1: ψ = 1/2 + 1/8 − (0 + 1)/4 = 3/8 where a is b or c, and 1/2 + 1/8 − 2/4 = 1/8 elsewhere."""
    for n in (3, 4, 9):
        share = 2 / (n - 1)  # of a being b or c
        want = share * 3 / 8 + (1 - share) / 8
        assert parallelogram_curvature(as_data(nx.complete_graph(n))).mean == pytest.approx(want)


def test_the_printed_formula_would_not_be_flat_on_a_line():
    d = lengths(nx.path_graph(5))
    printed = psi(d, 2, 1, 3, 0) - Fraction(int(d[0, 1]) ** 2 + int(d[0, 3]) ** 2, 4 * int(d[0, 2]))
    assert psi(d, 2, 1, 3, 0) == 0 > printed


@pytest.mark.parametrize("name", GRAPHS)
def test_a_few_anchors_estimate_the_exact_value(name):
    data = largest_component(as_data(GRAPHS[name]()))
    exact = parallelogram_curvature(data).mean
    runs = [parallelogram_curvature(data, anchors=8, seed=seed) for seed in range(60)]
    means = np.array([run.mean for run in runs])
    uneven = 2e-3  # a node has one anchor fewer where it is one itself
    assert abs(means.mean() - exact) < 4 * means.std() / np.sqrt(60) + uneven
    if name in ("sparse", "dense"):  # on trees and single cycles the mean over m does not depend on a
        assert 0.6 < means.std() / np.mean([run.standard_error for run in runs]) < 1.6
    assert parallelogram_curvature(data, anchors=10**6).standard_error == 0


@given(networks(), st.sampled_from([3, 2**24]))
def test_clustering_is_networkxs(graph, stretch):
    old, curvature.MAX_PRODUCTS = curvature.MAX_PRODUCTS, stretch
    try:
        actual = clustering(as_data(graph))
    finally:
        curvature.MAX_PRODUCTS = old
    want = nx.clustering(graph)
    assert actual.tolist() == pytest.approx([want[m] for m in graph])


def test_signs_are_as_the_paper_says():
    assert parallelogram_curvature(balanced_tree(3, 3)).mean < -0.4
    assert parallelogram_curvature(torus()).mean > 0
    assert parallelogram_curvature(cycle(10)).mean > 0


def test_wrong_arguments_and_text():
    with pytest.raises(GraphError, match="anchors of at least 1, found 0"):
        parallelogram_curvature(cycle(5), anchors=0)
    assert str(parallelogram_curvature(cycle(5))) == "+0.3125 (exact)"
