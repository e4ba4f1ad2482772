"""The final evaluation, saved networks, and the range of a classifier's curvatures."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from kappagcn import KappaGCNClassifier
from kappagcn.classification.evaluation import classifier_intervals, final_evaluation, predict
from kappagcn.classification.fitting import fit
from kappagcn.errors import ConfigError
from kappagcn.graphs import Split, disease
from kappagcn.models import KappaGCN
from kappagcn.training.checkpoint import load_model
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import seeded
from small_networks import network


def test_a_saved_network_predicts_as_the_one_that_was_trained(data, split, tmp_path):
    model = network("S2xE2")
    fit(model, data, split, TrainingSettings(epochs=10), folder=tmp_path)
    loaded = load_model(tmp_path)
    assert torch.equal(predict(loaded, data), predict(model, data))
    assert torch.allclose(predict(loaded, data).sum(1), torch.ones(200))
    assert loaded.options == model.options


def test_the_final_evaluation_counts_right(data, split):
    model = network()
    metrics = final_evaluation(model, data, split)
    nodes = split.final_test_nodes()
    labels, truth = predict(model, data)[nodes].argmax(1), data.y[nodes]
    f1 = []
    for c in (0, 1):
        hit = int(((labels == c) & (truth == c)).sum())
        f1.append(2 * hit / (int((labels == c).sum()) + int((truth == c).sum())))
    assert metrics["accuracy"] == pytest.approx(float((labels == truth).float().mean()))
    assert metrics["macro_f1"] == pytest.approx(sum(f1) / 2)
    with pytest.raises(ConfigError, match="test nodes for the final evaluation, found none"):
        final_evaluation(model, data, Split([0], [], [], []))


def test_a_network_of_doubles_comes_back_as_one(data, split, tmp_path):
    data.x = data.x.double()
    model = network().double()
    fit(model, data, split, TrainingSettings(epochs=3), folder=tmp_path)
    assert torch.equal(predict(load_model(tmp_path), data), predict(model, data))


def test_options_may_be_numpy_numbers(data, split, tmp_path):
    with seeded(0):
        model = KappaGCN(np.int64(10), np.int64(2), "H4", dropout=np.float32(0.25))
    fit(model, data, split, TrainingSettings(epochs=1), folder=tmp_path)
    assert torch.equal(predict(load_model(tmp_path), data), predict(model, data))


@pytest.fixture(scope="module")
def classifier():
    return KappaGCNClassifier("H4xE2", epochs=60, verbose=False).fit(disease(300))


def loss_with(classifier, number, kappa):
    model, data = classifier.model_, classifier._data
    curvature = model.curvatures()[number]
    raw, kept = curvature.raw, curvature.raw.detach().clone()
    with torch.no_grad():
        raw.fill_(kappa / curvature.unit)
        nodes = classifier._validation
        value = float(cross_entropy(model(data.x, data.edge_index)[nodes], data.y[nodes]))
        raw.copy_(kept)
    return value


def test_at_the_ends_the_cross_entropy_has_risen_by_one_per_cent(classifier):
    before = classifier.curvatures_
    intervals = classifier.curvature_intervals()
    assert len(intervals) == len(before)
    assert classifier.curvatures_ == before, "the network is as it was"
    for number, interval in enumerate(intervals):
        if interval is None:
            assert before[number] == 0
            continue
        least = loss_with(classifier, number, interval.kappa)
        for end in (interval.low, interval.high):
            if end is not None:
                assert loss_with(classifier, number, end) == pytest.approx(1.01 * least, rel=5e-3)


def test_without_validation_nodes_there_is_no_range(classifier):
    model, data = classifier.model_, classifier._data
    none = torch.empty(0, dtype=torch.long)
    assert set(classifier_intervals(model, data.x, data.edge_index, data.y, none)) == {None}


def test_a_loaded_classifier_has_no_graph_to_measure_on(classifier, tmp_path):
    from kappagcn.errors import ConfigError

    classifier.save(tmp_path / "model.safetensors")
    with pytest.raises(ConfigError, match="has no graph"):
        KappaGCNClassifier.load(tmp_path / "model.safetensors").curvature_intervals()
