"""Splits of edges: sizes, no leaks in either direction, bad input, time."""

import pytest
import torch
from torch_geometric.data import Data

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import (
    EdgeSplit,
    LabelledPairs,
    classic,
    disease,
    edge_split,
    load_graph,
    path,
    read_graph,
    time_split,
)
from kappagcn.graphs.datasets.preprocess import AIRPORT_NAMES, airport_features
from kappagcn.graphs.negatives import pair_keys


def every_part(split):
    test = split.final_test_pairs()
    return [split.train, split.validation.edges, test.edges, split.validation.others, test.others]


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("name", ["karate", "les_miserables", "tree", "torus"])
def test_parts_are_disjoint_and_complete(name, seed):
    data = load_graph(name)
    split = edge_split(data, seed)
    keys = [set(pair_keys(pairs, data.num_nodes).tolist()) for pairs in every_part(split)]
    edges = set(pair_keys(data.edge_index, data.num_nodes).tolist())
    assert keys[0] | keys[1] | keys[2] == edges
    assert sum(map(len, keys[:3])) == len(edges)
    assert not (keys[3] | keys[4]) & edges
    assert not keys[3] & keys[4]
    assert (len(keys[1]), len(keys[2])) == (int(0.05 * len(edges)), int(0.1 * len(edges)))
    assert (len(keys[3]), len(keys[4])) == (len(keys[1]), len(keys[2]))


def with_degrees(data):
    """The graph with features like those of Airport."""
    degree = torch.bincount(data.edge_index[0], minlength=data.num_nodes)
    data.x = torch.from_numpy(airport_features(torch.eye(data.num_nodes, 4), degree, scaling="none")).float()
    data.attr_names = list(AIRPORT_NAMES)
    return data


def without(data, pair):
    """The graph without one edge."""
    kept = pair_keys(data.edge_index, data.num_nodes) != pair_keys(pair, data.num_nodes)
    return Data(edge_index=data.edge_index[:, kept], num_nodes=data.num_nodes)


@pytest.mark.parametrize("sparse", [False, True])
def test_degrees_among_features_do_not_show_hidden_edges(sparse):
    data = with_degrees(classic("karate"))
    split = edge_split(data, 0)
    hidden = torch.cat((split.validation.edges, split.final_test_pairs().edges), 1)
    views = []
    for graph in (data, *(with_degrees(without(data, pair[:, None])) for pair in hidden.t())):
        graph.x = graph.x.to_sparse_csr() if sparse else graph.x
        views.append(split.training_view(graph).x.to_dense())
    assert all(torch.equal(views[0], x) for x in views)
    trained = torch.bincount(split.train.flatten(), minlength=34).clamp(max=5)
    assert views[0][:, 4:10].argmax(1).equal(trained)
    assert views[0][:, :4].equal(torch.eye(34, 4))


def test_scaled_degrees_are_refused_where_edges_are_hidden():
    data = with_degrees(classic("karate"))
    data.x = data.x / 10
    with pytest.raises(GraphError, match=r"expected 0 and 1 in the columns 'degree 0' to 'degree 5 or more'"):
        edge_split(data, 0).training_view(data)


def test_the_training_view_has_no_other_edge_in_either_direction():
    data = classic("les_miserables")  # weighted
    data.x = torch.eye(data.num_nodes)
    data.secret = torch.bincount(data.edge_index[0])
    split = edge_split(data, 3)
    view = split.training_view(data)
    hidden = torch.cat((split.validation.edges, split.final_test_pairs().edges), 1)
    directed = set(map(tuple, view.edge_index.t().tolist()))
    assert not directed & set(map(tuple, torch.cat((hidden, hidden.flip(0)), 1).t().tolist()))
    assert len(directed) == 2 * split.train.shape[1] == view.num_edges
    weights = dict(zip(map(tuple, data.edge_index.t().tolist()), data.edge_weight.tolist(), strict=True))
    kept = zip(map(tuple, view.edge_index.t().tolist()), view.edge_weight.tolist(), strict=True)
    assert all(weights[pair] == weight for pair, weight in kept)
    assert "secret" not in view
    assert view.x is data.x


def test_seeds_repeat_and_differ():
    data = disease()
    one, same, other = (edge_split(data, seed) for seed in (4, 4, 5))
    assert all(torch.equal(a, b) for a, b in zip(every_part(one), every_part(same), strict=True))
    assert not torch.equal(one.train, other.train)


def test_test_pairs_have_one_accessor():
    with pytest.raises(GraphError, match="final_test_pairs"):
        _ = edge_split(disease(), 0).test


def test_duplicates_directions_and_loops_count_once():
    edges = torch.tensor([[0, 1, 1, 2, 3, 4, 4, 0], [1, 0, 2, 3, 4, 4, 5, 1]])
    split = edge_split(Data(edge_index=edges, num_nodes=7), 0, validation=0.2, test=0.2)
    assert sum(pairs.shape[1] for pairs in every_part(split)[:3]) == 5


@pytest.mark.parametrize(
    ("data", "shares", "message"),
    [
        (path(2), {}, "expected edges left to train on, found 1 in all"),
        (Data(edge_index=torch.empty(2, 0, dtype=torch.int64), num_nodes=4), {}, "found 0 in all"),
        (classic("petersen"), {"validation": 0.6, "test": 0.5}, "sum to less than 1, found 0.6 and 0.5"),
        (Data(edge_index=torch.triu_indices(6, 6, 1), num_nodes=6), {}, "every two are linked"),
    ],
)
def test_impossible_splits_are_refused(data, shares, message):
    with pytest.raises(GraphError, match=message):
        edge_split(data, 0, **shares)


@pytest.mark.parametrize(
    ("train", "edges", "message"),
    [
        ([[0, 0], [1, 1]], [[2], [3]], "every pair once in train, found some twice"),
        ([[0, 1], [1, 2]], [[1], [0]], "train and validation to differ, found 1 in both"),
        ([[0], [9]], [[1], [2]], "nodes from 0 to 4, found 0 to 9"),
        ([[0], [0]], [[1], [2]], "node 0 with itself"),
        (torch.empty(2, 0, dtype=torch.int64), [[1], [2]], "edges to train on, found none left"),
    ],
)
def test_splits_that_contradict_themselves_are_refused(train, edges, message):
    none = torch.empty(2, 0, dtype=torch.int64)
    with pytest.raises(GraphError, match=message):
        EdgeSplit(train, LabelledPairs(edges, none), LabelledPairs(none, none), 5)


def test_a_view_of_another_graph_is_refused():
    split = edge_split(disease(), 0)
    with pytest.raises(GraphError, match="expected 1000 nodes, found 5"):
        split.training_view(path(5))
    with pytest.raises(GraphError, match="expected edges of the graph, found"):
        split.training_view(Data(edge_index=path(5).edge_index, num_nodes=1000))


def test_time_splits_are_in_order():
    data = path(41)
    pairs, times = torch.stack((torch.arange(40), torch.arange(1, 41))), torch.arange(40).flip(0).double()
    split = time_split(data, torch.cat((pairs, pairs[:, :3].flip(0)), 1), torch.cat((times, times[:3] + 9)))
    assert split.final_test_pairs().edges[0].tolist() == [3, 2, 1, 0]  # the later time of an edge does not count
    assert split.validation.edges[0].tolist() == [5, 4]
    with pytest.raises(GraphError, match="a finite time for each of 40 edges"):
        time_split(data, pairs, times[:3])


def test_times_are_a_column_of_the_edges(tmp_path):
    """Numbers or dates; an edge that is listed twice has its first time, and loops have none."""
    (tmp_path / "g.csv").write_text(
        "payer,payee,day\nann,bob,2024-03-04\nbob,ann,2024-03-01\nbob,bob,2024-01-01\nbob,cem,2024-03-02\n"
        "cem,dan,2024-03-03\ndan,eva,2024-03-05\n"
    )
    data = read_graph(tmp_path / "g.csv", header=True, time="day")
    assert "not used" not in data.report
    days = (data.edge_time - data.edge_time.min()).tolist()
    by_edge = {
        (data.node_names[u], data.node_names[v]): d for (u, v), d in zip(data.edge_index.T.tolist(), days, strict=True)
    }
    assert by_edge["ann", "bob"] == by_edge["bob", "ann"] == 0
    assert len(by_edge) == 8
    assert by_edge["dan", "eva"] == 4
    split = time_split(data, validation=0.25, test=0.25)
    assert [data.node_names[i] for i in split.final_test_pairs().edges.flatten()] == ["dan", "eva"]
    assert [data.node_names[i] for i in split.validation.edges.flatten()] == ["cem", "dan"]
    assert split.training_view(data).get("edge_time") is None
    with pytest.raises(GraphError, match=r"expected times of edges, found none. Name their column with --time"):
        time_split(read_graph(tmp_path / "g.csv", header=True))
    (tmp_path / "g.csv").write_text("payer,payee,day\nann,bob,monday\n")
    with pytest.raises(GraphFileError, match=r"line 2: expected a number or a date .* as time, found 'monday'"):
        read_graph(tmp_path / "g.csv", header=True, time="day")
