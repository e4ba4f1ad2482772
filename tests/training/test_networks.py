"""Edge weights: used or not, by trials on stopping nodes or validation pairs, in units of their median."""

import numpy as np
import torch
from torch_geometric.data import Data

from kappagcn import KappaGCNClassifier, KappaGCNLinkPredictor
from kappagcn.graphs import random_split
from kappagcn.training.networks import choose_unit, in_units

NODES, CLASSES = 120, 3


def blocks(inside, outside, weigh):
    """Classes of nodes as blocks with these densities; weights by `weigh` of a generator and of "within a block"."""
    rng, y = np.random.default_rng(0), np.arange(NODES) % CLASSES
    first, second = np.triu_indices(NODES, 1)
    same = y[first] == y[second]
    edge = rng.random(len(first)) < np.where(same, inside, outside)
    edges = np.stack([first[edge], second[edge]])
    weights = torch.from_numpy(weigh(rng, same[edge])).float()
    both = torch.from_numpy(np.concatenate([edges, edges[::-1]], 1))
    return Data(edge_index=both, edge_weight=torch.cat([weights, weights]), y=torch.from_numpy(y), num_nodes=NODES)


AMOUNTS = blocks(0.15, 0.01, lambda rng, same: np.exp(4 * rng.normal(size=len(same))))  # say nothing of the class
TIES = blocks(0.1, 0.1, lambda rng, same: np.where(same, 300.0, 3.0) * np.exp(rng.normal(size=len(same))))  # say all


def accuracy(data, **settings):
    split = random_split(data.y, 0, train=0.3, stopping=0.2, validation=0.0)
    classifier = KappaGCNClassifier("H8", epochs=60, verbose=False, **settings)
    classifier.fit_split(data, data.y.numpy(), split)
    return classifier.score(y=data.y.numpy(), nodes=split.final_test_nodes()), classifier


def test_heavy_tails_that_say_nothing_are_ignored():
    chosen, classifier = accuracy(AMOUNTS)
    assert chosen == accuracy(AMOUNTS, edge_weights="none")[0]
    assert chosen > accuracy(AMOUNTS, edge_weights="raw")[0] + 0.05
    assert classifier.edge_weights_.startswith("ignored: trials without them were better (the largest is ")


def test_weights_that_say_everything_are_used():
    chosen, classifier = accuracy(TIES)
    assert chosen == accuracy(TIES, edge_weights="scaled")[0]
    assert chosen > accuracy(TIES, edge_weights="none")[0] + 0.2
    assert classifier.edge_weights_.startswith("used, in units of their median ")


def test_the_unit_of_weights_changes_nothing():
    thousandfold = TIES.clone()
    thousandfold.edge_weight = 1024 * TIES.edge_weight  # a power of two, so that no number is rounded
    assert accuracy(thousandfold, edge_weights="scaled")[0] == accuracy(TIES, edge_weights="scaled")[0]


def test_another_graph_and_a_saved_classifier_use_weights_in_the_same_way(tmp_path):
    data = TIES.clone()
    data.x = torch.eye(NODES)[:, :40] + 0.1
    _, classifier = accuracy(data, edge_weights="scaled")
    loaded = KappaGCNClassifier.load(classifier.save(tmp_path / "mine.safetensors"))
    assert np.allclose(loaded.predict_proba(data), classifier.predict_proba(), atol=1e-6)
    half = data.clone()
    half.edge_weight = data.edge_weight / 2  # in the unit of the fitted graph, not in its own
    assert not np.allclose(loaded.predict_proba(half), classifier.predict_proba(), atol=1e-4)
    _, without = accuracy(data, edge_weights="none")
    assert np.allclose(without.predict_proba(half), without.predict_proba(), atol=1e-6)


def test_a_link_predictor_chooses_by_validation_pairs():
    data = blocks(0.15, 0.01, lambda rng, same: np.exp(8 * rng.normal(size=len(same))))
    scores = {}
    for choice in ("auto", "raw", "none"):
        predictor = KappaGCNLinkPredictor("H8", epochs=60, edge_weights=choice, verbose=False)
        scores[choice] = predictor.fit(data).score()
    assert scores["auto"] == scores["none"] > scores["raw"]


def test_trials_decide_only_where_there_is_something_to_decide():
    def refused(data):
        raise AssertionError("no trial is needed")

    assert choose_unit("none", TIES, True, refused) is None
    assert choose_unit("raw", TIES, True, refused) == 1
    assert choose_unit("scaled", TIES, True, refused) == choose_unit("auto", TIES, False, refused)
    alike = Data(edge_index=TIES.edge_index, num_nodes=NODES)
    assert choose_unit("auto", alike, True, refused) is None
    alike.edge_weight = torch.full((TIES.num_edges,), 5.0)
    assert choose_unit("auto", alike, True, refused) == 5
    assert in_units(alike, 5.0).edge_weight.unique().tolist() == [1.0]
    assert in_units(alike, None).get("edge_weight") is None
    assert alike.edge_weight[0] == 5, "the graph is not changed"
    assert choose_unit("auto", TIES, True, lambda data: float(data.get("edge_weight") is not None)) is None


def test_one_line_says_what_was_done(capsys):
    KappaGCNClassifier("H2", epochs=2, edge_weights="scaled").fit(TIES)
    assert "edge weights: used, in units of their median" in capsys.readouterr().err
