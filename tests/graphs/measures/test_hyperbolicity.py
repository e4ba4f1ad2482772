from itertools import combinations_with_replacement

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import kappagcn.graphs.measures.hyperbolicity as module
from kappagcn.errors import GraphError
from kappagcn.graphs import balanced_tree, cycle, hyperbolicity, torus
from random_graphs import as_data, lengths, networks


def by_definition(graph):
    d = lengths(graph)
    best = 0
    for x, y, z, w in combinations_with_replacement(range(len(graph)), 4):
        sums = sorted((d[x, y] + d[z, w], d[x, z] + d[y, w], d[x, w] + d[y, z]))
        best = max(best, sums[2] - sums[1])
    return best / 2


@given(networks(most=9, connected=True))
def test_exact_is_the_four_point_condition(graph):
    estimate = hyperbolicity(as_data(graph), exact=True)
    assert estimate.delta == by_definition(graph)
    assert estimate.diameter == (nx.diameter(graph) if len(graph) > 1 else 0)
    assert estimate.exact


@pytest.mark.parametrize("n", range(3, 41))
def test_cycles_have_their_known_value(n):
    """C_{4p+r}: p − 1/2 for r = 1, otherwise p (Cohen, Coudert, Lancin 2015)."""
    p, r = divmod(n, 4)
    assert hyperbolicity(cycle(n)).delta == (p - 0.5 if r == 1 else p)


def test_trees_have_none_and_grids_their_side():
    estimate = hyperbolicity(balanced_tree())
    assert (estimate.delta, estimate.diameter, estimate.exact, estimate.relative) == (0, 10, True, 0)
    assert hyperbolicity(as_data(nx.grid_2d_graph(6, 9))).delta == 5  # the smaller side less one


def test_only_the_largest_component_counts():
    assert hyperbolicity(as_data(nx.disjoint_union(nx.cycle_graph(8), nx.path_graph(20)))).delta == 0
    assert hyperbolicity(as_data(nx.disjoint_union(nx.cycle_graph(20), nx.path_graph(8)))).delta == 5


def test_samples_bound_the_exact_value_from_below(monkeypatch):
    graph = as_data(nx.gnm_random_graph(60, 110, seed=2))
    exact = hyperbolicity(graph, exact=True)
    monkeypatch.setattr(module, "EXACT_PAIRS", 0)
    sampled = [hyperbolicity(graph, samples=2000, seed=s) for s in range(5)]
    assert not any(s.exact for s in sampled)
    assert max(s.delta for s in sampled) <= exact.delta
    assert hyperbolicity(graph, samples=300_000).delta == exact.delta
    assert 0 < sampled[0].mean < exact.delta
    assert str(sampled[0]).startswith("δ ≥ ")


def test_large_graphs_are_sampled_and_scale_free_delta_is_at_most_one_half():
    estimate = hyperbolicity(torus())
    assert not estimate.exact
    assert estimate.diameter == 9
    assert 0.3 < estimate.relative <= 0.5
    assert hyperbolicity(as_data(nx.empty_graph(1))).relative == 0


def test_wrong_arguments():
    with pytest.raises(GraphError, match="samples of at least 1"):
        hyperbolicity(cycle(5), samples=0)
    assert np.isnan(hyperbolicity(cycle(5)).mean)
