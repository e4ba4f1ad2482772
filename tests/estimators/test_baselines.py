"""Baselines beside a classifier, and the sentence about them."""

import pytest
import torch

from kappagcn.estimators import KappaGCNClassifier
from kappagcn.estimators.baselines import compare, verdict
from kappagcn.graphs import disease, random_split


def records(*accuracies):
    return [{"accuracy": each} for each in accuracies]


CASES = {
    "FAILED: no better than the most common class (0.804 beside 0.800).": (
        [0.804],
        {"majority": records(0.8), "features": records(0.85)},
    ),
    "Behind an MLP on the features alone (0.533 beside 0.829): neighbours are of little use here; "
    "try --self-features on or --model mlp.": ([0.533], {"majority": records(0.4), "features": records(0.829)}),
    "Behind a GCN (0.700 beside 0.802): try --model gcn, another space, or --space E16.": (
        [0.7, 0.7],
        {"majority": records(0.4, 0.41), "features": records(0.5, 0.5), "gcn": records(0.801, 0.803)},
    ),
    "Better than the most common class and an MLP on the features alone; level with a GCN.": (
        [0.8, 0.82],
        {"majority": records(0.4, 0.4), "features": records(0.5, 0.51), "gcn": records(0.79, 0.83)},
    ),
    "Better than the most common class.": ([0.8], {"majority": records(0.4)}),
}


@pytest.mark.parametrize("sentence", CASES)
def test_the_verdict_says_what_the_numbers_say(sentence):
    accuracies, baselines = CASES[sentence]
    assert verdict(accuracies, baselines, 500, "kappa-gcn") == sentence


def test_a_rare_class_that_is_told_apart_is_no_failure():
    rare = {"majority": records(0.875)}
    assert verdict([0.89], rare, 200, "kappa-gcn", auc=0.853).startswith("Not clearly more accurate than the most")
    assert "AUC 0.853" in verdict([0.89], rare, 200, "kappa-gcn", auc=0.853)
    assert verdict([0.89], rare, 200, "kappa-gcn", auc=0.55).startswith("FAILED")
    assert verdict([0.89], rare, 40, "kappa-gcn", auc=0.7).startswith("FAILED")  # five nodes of the rare class
    assert verdict([0.95], rare, 2000, "kappa-gcn", auc=0.853).startswith("Better")


def test_a_difference_within_the_error_of_few_test_nodes_is_none():
    assert verdict([0.55], {"majority": records(0.5)}, 20, "gcn").startswith("FAILED")
    assert verdict([0.7], {"majority": records(0.5)}, 20, "gcn").startswith("Probably better")
    assert verdict([1.0], {"majority": records(0.5)}, 4, "gcn").startswith("Probably better")
    assert verdict([0.6], {"majority": records(0.5)}, 2000, "gcn").startswith("Better")


def test_splits_that_share_test_nodes_say_less():
    theirs = {"majority": records(0.4, 0.4, 0.4), "gcn": records(0.79, 0.80, 0.81)}
    assert "level" not in verdict([0.8, 0.83, 0.82], theirs, 500, "kappa-gcn")
    assert "level with a GCN" in verdict([0.8, 0.83, 0.82], theirs, 500, "kappa-gcn", overlap=1.0)


def test_baselines_share_the_splits_and_are_kept(tmp_path):
    data = disease(120)
    splits = [random_split(data.y, seed) for seed in range(2)]
    classifier = KappaGCNClassifier("H2", epochs=4, verbose=False)
    lines = []
    first = compare(classifier, data, splits, tmp_path, lines.append)
    assert list(first) == ["majority", "features", "gcn"]
    assert all(len(each) == 2 for each in first.values())
    assert first["majority"][0]["balanced_accuracy"] == 0.5
    assert len(lines) == 2
    assert compare(classifier, data, splits, tmp_path, lines.append) == first
    assert len(lines) == 2


def test_a_baseline_that_is_the_classifier_itself_is_left_out():
    data = disease(120)
    splits = [random_split(data.y, 0)]
    assert list(compare(KappaGCNClassifier("H2", model="gcn", epochs=2), data, splits)) == ["majority", "features"]
    data.x = None
    assert list(compare(KappaGCNClassifier("H2", model="mlp", epochs=2), data, splits)) == ["majority", "gcn"]


def test_the_most_common_class_is_that_of_the_training_nodes():
    data = disease(120)
    split = random_split(data.y, 0)
    data.y = torch.where(torch.isin(torch.arange(120), split.train), 0, data.y)
    data.y[split.train[0]] = 1
    (majority,) = compare(KappaGCNClassifier("H2", model="mlp", epochs=1), data, [split])["majority"]
    assert majority["accuracy"] == float((data.y[split.final_test_nodes()] == 0).double().mean())
