"""GraphEmbedder."""

import json
import math
import sys

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from kappagcn import GraphEmbedder
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.quality import measure
from kappagcn.errors import CheckpointError, ConfigError, EmbeddingFailedError, GeometryError, GraphError
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import balanced_tree, cycle, from_networkx, path, shortest_paths, star
from kappagcn.sparse import normalized_adjacency

TREE = balanced_tree(3, 3)


QUICK = {"epochs": 60, "verbose": False}


def fitted(graph=TREE, space="H3", **options):
    return GraphEmbedder(space, **{**QUICK, **options}).fit(graph)


def test_points_distances_and_distortion_belong_together():
    embedder = fitted(space="H2xS2", epochs=80)
    manifold = embedder.manifold_.requires_grad_(False)
    points = torch.from_numpy(embedder.embedding_)
    there = torch.stack([manifold.dist(points[5], other) for other in points])
    assert embedder.embedding_.shape == embedder.tangent_.shape == (40, 4)
    np.testing.assert_allclose(embedder.distances([5])[0], there.numpy(), rtol=1e-3, atol=1e-3)
    lengths = shortest_paths(TREE).double().numpy()
    off = ~np.eye(40, dtype=bool)
    ratio = embedder.distances()[off] / lengths[off]
    assert embedder.distortion_ == pytest.approx(((ratio**2 - 1) ** 2).sum() / 40**2, rel=1e-5)
    assert embedder.worst_distortion_ == pytest.approx(ratio.max() / ratio.min(), rel=1e-5)
    assert embedder.distortion_ == pytest.approx(min(each["distortion"] for each in embedder.history_), rel=1e-5)


@pytest.mark.parametrize("method", ["free", "kappa-gcn"])
def test_a_tree_fits_the_hyperbolic_space_better_than_plane_and_sphere(method):
    """A sphere whose curvature is held: a learned one may become hyperbolic itself. Bounds by what 20 seeds show."""
    held = {"S4": {"curvature_lr": 0.0}}
    rates = {"lr": 0.02} if method == "kappa-gcn" else {}
    spaces = ("H4", "E4", "S4")
    results = {
        space: fitted(space=space, method=method, epochs=400, **rates, **held.get(space, {})) for space in spaces
    }
    average = {space: each.distortion_ for space, each in results.items()}
    assert average["H4"] < 0.06
    assert average["H4"] < 0.75 * min(average["E4"], average["S4"])
    assert results["H4"].map_ > (0.9 if method == "free" else 0.5)  # smoothing keeps neighbours together


def test_the_same_seed_gives_the_same_points_and_another_does_not():
    one, same, other = (fitted(epochs=10, random_state=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.embedding_, same.embedding_)
    assert not np.allclose(one.embedding_, other.embedding_)


def test_every_kind_of_graph_is_the_same_graph():
    graph = nx.karate_club_graph()
    for _, _, link in graph.edges(data=True):
        link.clear()
    matrix = nx.to_scipy_sparse_array(graph, dtype=float)
    kinds = [graph, matrix, matrix.toarray(), sp.coo_matrix(matrix), from_networkx(graph)]
    result = [fitted(kind, "E2", epochs=20).embedding_ for kind in kinds]
    assert all(np.array_equal(result[0], each) for each in result)
    directed = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
    assert np.array_equal(fitted(directed, "E2", epochs=5).embedding_, fitted(path(4), "E2", epochs=5).embedding_)


def test_weights_are_lengths():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 0.5), ("a", "d", 8.0)])
    embedder = fitted(graph, "E2", epochs=800)
    d, a, b, c = (embedder.distances()[:, list(graph).index(name)] for name in "dabc")
    at = {name: i for i, name in enumerate(graph)}
    assert a[at["b"]] == pytest.approx(2, rel=0.05)
    assert b[at["c"]] == pytest.approx(0.5, rel=0.05)
    assert d[at["c"]] == pytest.approx(10.5, rel=0.05)
    assert c[at["a"]] == pytest.approx(2.5, rel=0.05)


@pytest.mark.parametrize(
    "options", [{}, {"method": "kappa-gcn"}, {"sources": 20}], ids=["free", "kappa-gcn", "sampled"]
)
def test_units_of_length_do_not_matter(options):
    one = fitted(TREE, "H3xS1(0.01)", epochs=30, **options)
    for unit in (1e-3, 1e3):
        tree = TREE.clone()
        tree.edge_weight = torch.full((TREE.num_edges,), unit)
        other = fitted(tree, f"H3xS1({0.01 / unit**2})", epochs=30, **options)
        assert other.distortion_ == pytest.approx(one.distortion_, rel=1e-3)
        np.testing.assert_allclose(other.distances() / unit, one.distances(), rtol=1e-2, atol=1e-3)
        np.testing.assert_allclose(np.multiply(other.curvatures_, unit**2), one.curvatures_, rtol=1e-3)


def test_components_are_left_out_and_said():
    graph = nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(4))
    with pytest.warns(UserWarning, match="24 of 42 pairs of nodes have no path"):
        embedder = GraphEmbedder("E2", epochs=600, verbose=False).fit(graph)
    assert embedder.unreachable_pairs_ == 24
    assert embedder.distances([0])[0, 1:3] == pytest.approx([1, 2], rel=0.05)


@pytest.mark.parametrize("method", ["free", "kappa-gcn"])
def test_one_node_and_two(method):
    alone = fitted(nx.empty_graph(1), "H2", method=method)
    assert alone.distortion_ == 0
    assert alone.embedding_.shape == (1, 2)
    assert math.isnan(alone.map_)
    if method == "free":
        assert fitted(nx.path_graph(2), "H2").distances([0])[0, 1] == pytest.approx(1, abs=1e-2)
    else:  # a κ-GCN cannot tell nodes apart that have all neighbours in common and each other
        with pytest.raises(EmbeddingFailedError):
            fitted(nx.path_graph(2), "H2", method=method)


def test_sampled_pairs_come_near_to_all_pairs():
    tree = balanced_tree(4, 4)
    some = fitted(tree, "H5", epochs=400, sources=32)
    assert some.distortion_std_error_ > 0
    exact = measure(torch.from_numpy(some.tangent_), some.manifold_, GraphDistances.of(tree))
    assert abs(exact.distortion - some.distortion_) < 5 * some.distortion_std_error_
    assert exact.distortion < 0.005, "20 seeds show 0.002 at most, all pairs 0.0007"


def test_what_is_reported_is_drawn_for_it_alone(monkeypatch):
    from kappagcn.embedding import run as module

    seen = []
    real = GraphDistances.of.__func__

    def noted(cls, data, sources=None, near=None):
        seen.append(None if sources is None else set(torch.as_tensor(sources).tolist()))
        return real(cls, data, sources, near)

    monkeypatch.setattr(GraphDistances, "of", classmethod(noted))
    monkeypatch.setattr(module, "MEASURED", 20)
    tree = balanced_tree(4, 4)
    fitted(tree, sources=8, epochs=5)
    reported, watched, *trained = seen
    assert len(reported) == 20
    assert len(watched) == 16
    assert not reported & watched
    assert len(trained) == 5
    assert all(len(each) == 8 for each in trained)
    assert len(set.union(*trained)) > 20, "each step draws anew"
    # Evenly drawn apart from training, the nodes are met in it as often as any others: 8 of 341 in a step.
    assert all(len(each & (reported | watched)) <= 4 for each in trained)


def test_components_of_a_sampled_graph_are_counted_as_a_whole():
    graph = nx.disjoint_union(nx.path_graph(60), nx.path_graph(40))
    with pytest.warns(UserWarning, match="4800 of 9900 pairs"):
        embedder = GraphEmbedder("E2", sources=8, epochs=3, verbose=False).fit(graph)
    assert embedder.unreachable_pairs_ == 4800


def test_more_sources_than_nodes_are_all_pairs():
    assert fitted(star(5), sources=64).distortion_std_error_ == 0
    some, all_pairs = (fitted(TREE, sources=number, epochs=10) for number in (40, 0))
    assert np.array_equal(some.embedding_, all_pairs.embedding_)


@pytest.mark.parametrize("options", [{"method": "kappa-gcn"}, {"sources": 8}], ids=["kappa-gcn", "sampled"])
def test_a_resumed_run_comes_to_the_same_points(tmp_path, monkeypatch, options):
    from kappagcn.training.trainer import Trainer

    whole = fitted(epochs=30, **options)
    step = Trainer.run_epoch

    def interrupted(self):
        if self.epoch == 13:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr("kappagcn.training.run.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(Trainer, "run_epoch", interrupted)
    embedder = GraphEmbedder("H3", epochs=30, verbose=False, **options)
    with pytest.raises(KeyboardInterrupt):
        embedder.fit(TREE, folder=tmp_path / "run")
    monkeypatch.setattr(Trainer, "run_epoch", step)
    embedder.fit(TREE, folder=tmp_path / "run", resume=True)
    assert np.array_equal(whole.embedding_, embedder.embedding_)
    assert [each["distortion"] for each in whole.history_] == [each["distortion"] for each in embedder.history_]


def test_a_folder_holds_points_and_summary(tmp_path):
    graph = nx.relabel_nodes(nx.path_graph(3), dict(enumerate("abc")))
    embedder = GraphEmbedder("H2", **QUICK).fit(graph, folder=tmp_path / "run")
    with np.load(tmp_path / "run" / "embedding.npz", allow_pickle=False) as result:
        assert np.array_equal(result["points"], embedder.embedding_)
        assert np.array_equal(result["tangent"], embedder.tangent_)
        assert result["curvatures"].tolist() == embedder.curvatures_
        assert result["names"].tolist() == ["a", "b", "c"]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["distortion"] == embedder.distortion_
    assert summary["learned_space"] == embedder.space_
    with pytest.raises(CheckpointError, match="holds a run already"):
        GraphEmbedder("H2", **QUICK).fit(graph, folder=tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"options.space H3 instead of H2"):
        GraphEmbedder("H3", **QUICK).fit(graph, folder=tmp_path / "run", resume=True)


def test_a_curvature_that_crossed_zero_is_written_as_free():
    embedder = fitted(cycle(8), "H2(-0.01)", epochs=400)
    assert embedder.curvatures_[0] > 0
    assert embedder.space_.startswith("S2(")
    assert parse_signature(embedder.space_)[0].kappa == pytest.approx(embedder.curvatures_[0], rel=1e-4)


def test_the_learned_space_stays_when_arguments_change():
    embedder = fitted(space="H2", epochs=10)
    before = embedder.space_
    assert embedder.set_params(space="S2xS2").space_ == before
    assert embedder.fit_transform(TREE, None).shape == (40, 4)


def test_nothing_is_drawn_without_progress(monkeypatch):
    monkeypatch.setattr("kappagcn.training.sklearn_base.reporting", lambda *_: pytest.fail("drawn"))
    fitted(sources=np.int64(8))


def test_a_finished_run_that_is_resumed_is_not_timed_anew(tmp_path):
    folder = tmp_path / "run"
    seconds = GraphEmbedder("E2", **QUICK).fit(TREE, folder=folder).summary()["seconds"]
    again = GraphEmbedder("E2", **QUICK).fit(TREE, folder=folder, resume=True)
    assert again.summary()["seconds"] == seconds > 0


def test_arguments_as_scikit_learn_asks_for_them():
    embedder = GraphEmbedder("S2", method="kappa-gcn")
    assert embedder.get_params()["method"] == "kappa-gcn"
    assert repr(embedder.set_params(epochs=5)) == "GraphEmbedder(space='S2', epochs=5, method='kappa-gcn')"
    with pytest.raises(ConfigError, match="found 'colour'"):
        embedder.set_params(colour=1)


@pytest.mark.parametrize(
    ("graph", "options", "error", "words"),
    [
        (7, {}, GraphError, "expected PyG's Data, a SciPy or NumPy adjacency matrix, .* found int"),
        (nx.empty_graph(0), {}, GraphError, "expected a graph with nodes, found none"),
        (TREE, {"space": "X3"}, GeometryError, "found 'X'"),
        (TREE, {"method": "gcn"}, ConfigError, "method: expected free, kappa-gcn, found 'gcn'"),
        (TREE, {"start": "zero"}, ConfigError, "start: expected graph, paper, found 'zero'"),
        (TREE, {"epochs": 0}, ConfigError, "epochs: expected a whole number in .*, found 0"),
        (TREE, {"lr": -1.0}, ConfigError, "lr: expected a number in .*, found -1.0"),
        (TREE, {"lr": "fast"}, ConfigError, "lr: expected a number in .*, found 'fast'"),
        (TREE, {"sources": -1}, ConfigError, 'sources: expected a whole number in .* or "auto", found -1'),
        (TREE, {"sources": "many"}, ConfigError, "found 'many'"),
        (TREE, {"sources": True}, ConfigError, "found True"),
        (TREE, {"hidden_channels": 16.0}, ConfigError, "hidden_channels: expected a whole number"),
        (TREE, {"random_state": "a"}, ConfigError, "random_state: expected a whole number"),
        (TREE, {"method": "kappa-gcn", "space": "H1^4", "hidden_channels": 2}, GraphError, "expected at least 4"),
    ],
)  # fmt: skip
def test_wrong_input_is_named(graph, options, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(")):
        GraphEmbedder(**{"space": "H2", **QUICK, **options}).fit(graph)


@pytest.mark.parametrize(
    ("name", "graph", "bound"),
    [
        ("binary tree of depth 6", nx.balanced_tree(2, 6), 0.01),
        ("star", nx.star_graph(40), 0.01),
        ("path", nx.path_graph(50), 0.001),
        ("recursive tree", nx.random_labeled_rooted_tree(150, seed=3), 0.02),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_trees_of_many_shapes_fit_hyperbolic_space_by_default(name, graph, bound):
    embedder = fitted(nx.Graph(graph.edges()), "H5", epochs=300)
    assert embedder.distortion_ < bound


@pytest.mark.parametrize("objective", ["distortion", "relative", "stress"])
def test_lengths_over_four_orders_of_magnitude(objective):
    """Points of the plane, some of them ten thousand times nearer to each other than others."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((60, 2)) * np.exp(rng.uniform(-4.6, 4.6, (60, 1)))
    lengths = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert lengths.max() / lengths[lengths > 0].min() > 1e4
    embedder = fitted(lengths, "E2", epochs=300, objective=objective)
    assert embedder.d_avg_ < 0.01


def test_the_objective_that_is_asked_for_is_the_one_that_is_least():
    graph = nx.karate_club_graph()
    result = {
        each: fitted(graph, "H3", epochs=200, objective=each) for each in ("distortion", "relative", "neighbours")
    }
    assert result["relative"].d_avg_ < result["distortion"].d_avg_
    assert result["distortion"].distortion_ < result["relative"].distortion_
    assert result["neighbours"].map_ > max(result[each].map_ for each in ("distortion", "relative"))
    assert result["relative"].history_[-1]["d_avg"] == pytest.approx(result["relative"].d_avg_, rel=1e-6)


@pytest.mark.parametrize("objective", ["distortion", "relative"])
def test_points_of_a_sphere_are_not_folded_in_a_space_that_was_to_be_hyperbolic(objective):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    noisy = np.triu(np.arccos(np.clip(x @ x.T, -1, 1)) * np.exp(0.02 * rng.standard_normal((60, 60))), 1)
    embedder = fitted(noisy + noisy.T, "H2", epochs=200, objective=objective, intervals=False)
    assert embedder.d_avg_ < 0.02
    assert embedder.curvatures_[0] == pytest.approx(1, rel=0.1)


def test_the_histogram_is_that_of_the_points_that_are_written(tmp_path):
    """A ranking has no unit of length: points get the one that fits, and so does the histogram of d/d_G."""
    GraphEmbedder("H2", objective="neighbours", epochs=60, verbose=False).fit(TREE, folder=tmp_path / "run")
    with np.load(tmp_path / "run" / "embedding.npz") as arrays:
        counts, edges = arrays["ratio_counts"], arrays["ratio_edges"]
    mean = (counts * (edges[1:] + edges[:-1]) / 2).sum() / counts.sum()
    assert counts.sum() == 40 * 39
    assert 0.5 < mean < 1.5


def test_a_finished_run_can_be_extended(tmp_path):
    whole = fitted(epochs=60)
    GraphEmbedder("H3", epochs=25, verbose=False).fit(TREE, folder=tmp_path / "run")
    more = GraphEmbedder("H3", epochs=60, verbose=False).fit(TREE, folder=tmp_path / "run", resume=True)
    assert more.result_.resumed_after == 25
    assert np.array_equal(more.embedding_, whole.embedding_) or more.distortion_ == pytest.approx(
        whole.distortion_, rel=0.5
    )


def test_a_loaded_embedder_is_the_one_that_was_saved(tmp_path):
    weighted = nx.karate_club_graph()
    embedder = GraphEmbedder("H2xE1", epochs=60, verbose=False).fit(weighted, folder=tmp_path / "run")
    loaded = GraphEmbedder.load(tmp_path / "run")
    assert np.array_equal(loaded.embedding_, embedder.embedding_)
    assert np.array_equal(loaded.distances([3]), embedder.distances([3]))
    assert loaded.summary() == {**embedder.summary(), "seconds": loaded.summary()["seconds"]}
    assert loaded.space_ == embedder.space_
    assert loaded.score() == -embedder.d_avg_


def test_nodes_that_share_a_place_are_counted():
    """In one dimension two leaves of a star have to lie on the same side."""
    embedder = fitted(star(3), "E1", epochs=200)
    assert len(embedder.coincident_nodes_) in (2, 3)
    assert embedder.summary()["coincident_nodes"] == len(embedder.coincident_nodes_)


def test_an_embedder_that_was_not_fitted_has_no_results():
    for ask in (lambda e: e.curvatures_, lambda e: e.distances(), lambda e: e.summary()):
        with pytest.raises(ConfigError, match="Call fit first"):
            ask(GraphEmbedder())


@pytest.mark.parametrize(("method", "most"), [("free", 0), ("kappa-gcn", 1)])
def test_the_adjacency_is_normalised_at_most_once(method, most, monkeypatch):
    calls, own = [], normalized_adjacency
    for name, module in list(sys.modules.items()):
        if name.startswith("kappagcn") and "normalized_adjacency" in vars(module):
            monkeypatch.setattr(module, "normalized_adjacency", lambda *a, **k: calls.append(1) or own(*a, **k))
    GraphEmbedder("H2", method=method, epochs=2, verbose=False).fit(TREE)
    assert len(calls) == most


def test_starts_with_fixed_curvatures_are_tried_only_in_long_trials(monkeypatch):
    from kappagcn.embedding.run import EmbeddingRun

    tried, own = [], EmbeddingRun._trainer
    monkeypatch.setattr(
        EmbeddingRun, "_trainer", lambda run, start: tried.append(start.fixed_epochs) or own(run, start)
    )
    for trial in (20, 45):
        monkeypatch.setattr("kappagcn.embedding.run.TRIAL", trial)
        monkeypatch.setattr("kappagcn.embedding.start.SETTLING", 15)
        tried.clear()
        fitted(epochs=50, space="H2xS2", objective="relative", intervals=False)
        assert (15 in tried) == (trial == 45)
