"""The range of a classifier's curvatures."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from kappagcn import KappaGCNClassifier
from kappagcn.classification.evaluation import classifier_intervals
from kappagcn.graphs import disease


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
