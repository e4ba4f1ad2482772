"""Baselines beside a classifier, and the sentence about them."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from kappagcn.classification.baselines import compare, verdict
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.evaluation import paired_difference
from kappagcn.graphs import Split, disease, random_split
from kappagcn.training.estimate import Estimate


def sentence(accuracy, *, auc=None, test_nodes=500, margin=0.02, **others):
    differences = {name: Estimate(accuracy - each, margin) for name, each in others.items()}
    return verdict(accuracy, others, differences, auc, test_nodes)


CASES = {
    "FAILED: no better than the most common class (0.804 beside 0.800).": (0.804, {"majority": 0.8, "features": 0.85}),
    "Behind an MLP on the features alone (0.533 beside 0.829): neighbours are of little use here; "
    "try --set self-features=on or --model mlp.": (0.533, {"majority": 0.4, "features": 0.829}),
    "Behind a GCN (0.700 beside 0.802): try --model gcn, another space, or --space E16.": (
        0.7,
        {"majority": 0.4, "features": 0.5, "gcn": 0.802},
    ),
    "Behind a GCN without the edge weights (0.617 beside 0.901): the edge weights mislead; try --set weights=false.": (
        0.617,
        {"majority": 0.3, "gcn": 0.64, "unweighted": 0.901},
    ),
    "Better than the most common class, label propagation and an MLP on the features alone; level with a GCN.": (
        0.81,
        {"majority": 0.4, "propagation": 0.7, "features": 0.5, "gcn": 0.805},
    ),
    "Better than the most common class.": (0.8, {"majority": 0.4}),
}


@pytest.mark.parametrize("words", CASES)
def test_the_verdict_says_what_the_numbers_say(words):
    accuracy, others = CASES[words]
    assert sentence(accuracy, **others) == words


def test_a_rare_class_that_is_told_apart_is_no_failure():
    rare = {"majority": 0.875, "margin": 0.05}
    assert sentence(0.89, auc=0.853, test_nodes=200, **rare).startswith("Not clearly more accurate than the most")
    assert "AUC 0.853" in sentence(0.89, auc=0.853, test_nodes=200, **rare)
    assert sentence(0.89, auc=0.55, test_nodes=200, **rare).startswith("FAILED")
    assert sentence(0.89, auc=0.7, test_nodes=40, **rare).startswith("FAILED")  # five nodes of the rare class
    assert sentence(0.95, auc=0.853, **rare).startswith("Better")


def runs(*marks):
    return [{"accuracy": text.count("1") / len(text), "correct": text} for text in marks]


def test_differences_are_paired_by_test_node():
    nodes = [set(range(400))]
    ours, theirs = "1" * 320 + "0" * 80, "1" * 300 + "0" * 100  # right wherever the other is, and 20 times more
    paired = paired_difference(runs(ours), runs(theirs), nodes)
    assert paired.mean == pytest.approx(0.05)
    assert paired.mean - paired.interval > 0
    elsewhere = paired_difference(runs(ours), runs(theirs[::-1]), nodes)  # as accurate, but on other nodes
    assert elsewhere.mean == pytest.approx(0.05)
    assert elsewhere.mean - elsewhere.interval < 0
    few = paired_difference(runs("1111"), runs("0011"), [{1, 2, 3, 4}])
    assert few.mean - few.interval < 0


def test_splits_that_share_test_nodes_say_less():
    rng = np.random.default_rng(0)
    ours = ["".join(map(str, (rng.random(200) < 0.82).astype(int))) for _ in range(5)]
    theirs = ["".join(map(str, (rng.random(200) < 0.80).astype(int))) for _ in range(5)]
    apart = paired_difference(runs(*ours), runs(*theirs), [set(range(200 * i, 200 * i + 200)) for i in range(5)])
    same = paired_difference(runs(*ours), runs(*theirs), [set(range(200))] * 5)
    assert same.mean == apart.mean
    assert same.interval > 1.3 * apart.interval


def test_baselines_share_splits_runs_seeds_and_budget_and_are_kept(tmp_path, monkeypatch):
    data, trained = disease(120), []
    splits = [random_split(data.y, seed) for seed in range(2)]
    classifier = KappaGCNClassifier("H2", epochs=301, patience=60, random_state=7, verbose=False)

    fit_split = KappaGCNClassifier.fit_split

    def short_fit(self, *arguments):
        trained.append(self.get_params())
        return fit_split(self.set_params(epochs=2), *arguments)

    monkeypatch.setattr(KappaGCNClassifier, "fit_split", short_fit)
    lines = []
    first = compare(classifier, data, splits, tmp_path, lines.append, runs=2)
    assert list(first) == ["majority", "propagation", "features", "gcn"]
    assert all(len(each) == 4 for each in first.values())
    assert first["majority"][0]["balanced_accuracy"] == 0.5
    assert [each["random_state"] for each in trained] == [7, 8, 1007, 1008] * 2
    assert all((each["epochs"], each["patience"]) == (301, 60) for each in trained)
    assert len(lines) == 2
    assert compare(classifier, data, splits, tmp_path, lines.append, runs=2) == first
    assert len(lines) == 2


def test_a_baseline_that_is_the_classifier_itself_is_left_out():
    data = disease(120)
    splits = [random_split(data.y, 0)]
    gcn = KappaGCNClassifier("H2", model="gcn", epochs=2)
    assert list(compare(gcn, data, splits)) == ["majority", "propagation", "features"]
    data.x, data.edge_weight = None, torch.rand(data.num_edges)
    mlp = KappaGCNClassifier("H2", model="mlp", epochs=2)
    assert list(compare(mlp, data, splits)) == ["majority", "propagation", "gcn", "unweighted"]
    assert list(compare(gcn.set_params(edge_weights="none"), data, splits)) == ["majority", "propagation"]


def test_labels_propagate_along_heavy_edges_and_elsewhere_the_most_common_class_is_taken():
    edges = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])  # 0 – 1 – 2, 3 – 4
    weights = torch.tensor([1.0, 1.0, 9.0, 9.0, 1.0, 1.0])
    data = Data(edge_index=edges, edge_weight=weights, y=torch.tensor([0, 1, 1, 0, 0, 0]), num_nodes=6)
    split = Split([0, 2, 5], [], [], [1, 3, 4])
    raw = KappaGCNClassifier("H2", model="gcn", epochs=1, edge_weights="raw", verbose=False)
    (propagation,) = compare(raw, data, [split])["propagation"]
    assert propagation["correct"] == "111"
    (unweighted,) = compare(raw.set_params(edge_weights="none"), data, [split])["propagation"]
    assert unweighted["correct"] == "011"


def test_the_most_common_class_is_that_of_the_training_nodes():
    data = disease(120)
    split = random_split(data.y, 0)
    data.y = torch.where(torch.isin(torch.arange(120), split.train), 0, data.y)
    data.y[split.train[0]] = 1
    (majority,) = compare(KappaGCNClassifier("H2", model="mlp", epochs=1), data, [split])["majority"]
    assert majority["accuracy"] == float((data.y[split.final_test_nodes()] == 0).double().mean())
