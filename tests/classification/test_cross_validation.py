"""Runs over splits in one folder: which is kept, which splits there are."""

import json

import pytest
import torch

from kappagcn import KappaGCNClassifier
from kappagcn.classification import classifier as classifier_module
from kappagcn.classification.cross_validation import ClassifierRuns, classify, load_labelled, splits_of
from kappagcn.errors import CheckpointError, GraphError
from kappagcn.graphs import disease, random_split
from kappagcn.training import labelled as labelled_module


def test_stopping_nodes_choose_the_run_that_is_kept_and_test_nodes_do_not(tmp_path):
    runs = ClassifierRuns(KappaGCNClassifier(), disease(200), [], tmp_path)
    records = [
        {"test": {"accuracy": 0.9}, "stopping_accuracy": 0.7, "stopping_loss": 0.1},
        {"test": {"accuracy": 0.5}, "stopping_accuracy": 0.8, "stopping_loss": 0.4},
        {"test": {"accuracy": 0.6}, "stopping_accuracy": 0.8, "stopping_loss": 0.3},
    ]
    assert runs.best(records) == 2, "the best accuracy, of those the lowest loss"
    assert runs.best([{**record, "stopping_accuracy": 0.5} for record in records]) == 0


def test_the_run_that_is_kept_is_the_one_that_is_written(tmp_path):
    data = load_labelled("disease")
    classifier = KappaGCNClassifier("H4", epochs=12, verbose=False)
    summary = classify(classifier, data, splits_of("disease", data, 2), tmp_path, runs=2)
    kept = summary["kept"]
    folder = tmp_path / "runs" / f"split{kept['split']}-run{kept['run']}"
    assert (tmp_path / "metrics.jsonl").read_bytes() == (folder / "metrics.jsonl").read_bytes()
    record = json.loads((folder / "record.json").read_text())
    assert len(record["test"].pop("correct")) == summary["test_nodes"]
    assert record in summary["records"]
    assert [r["seed"] for r in summary["records"]] == [0, 1, 1000, 1001]
    again = KappaGCNClassifier.load(tmp_path / "model.safetensors")
    assert again.predict_proba(data).shape == (1000, 2)
    with pytest.raises(CheckpointError, match="holds a run already"):
        classify(classifier, data, splits_of("disease", data, 2), tmp_path, runs=2)


def test_masks_of_a_file_are_its_one_split():
    data = disease(200)
    data.train_mask = torch.arange(200) < 100
    data.test_mask = ~data.train_mask
    (split,) = splits_of("mine.npz", data, 1)
    assert split.final_test_nodes().tolist() == list(range(100, 200))
    with pytest.raises(GraphError, match="expected 1 split, the one of its masks"):
        splits_of("mine.npz", data, 2)
    data.y = None
    with pytest.raises(GraphError, match="expected a graph with labels to learn from"):
        splits_of("mine.npz", data, 1)


def test_batches_evaluate_layer_by_layer_to_the_same_numbers():
    data = load_labelled("disease")
    whole = KappaGCNClassifier("H4xS4", epochs=5, batch_size=200, num_neighbors=3, verbose=False).fit(data)
    scores, points = whole.scores(), whole.embed()
    whole.batch_size = None
    assert torch.allclose(scores, whole.scores(), atol=1e-5)
    assert torch.allclose(torch.from_numpy(points), torch.from_numpy(whole.embed()), atol=1e-5)


def counted(monkeypatch, module, name):
    """Count the calls of a function where a module looks it up."""
    calls, own = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **kwargs: calls.append(name) or own(*args, **kwargs))
    return calls


def test_one_split_builds_one_network_and_reads_the_graph_once(tmp_path, monkeypatch):
    data = disease(200)
    built = counted(monkeypatch, classifier_module.network, "build_network")
    fits = counted(monkeypatch, classifier_module.network, "fit")
    assembled = [counted(monkeypatch, labelled_module, name) for name in ("from_pyg", "as_graph", "from_networkx")]
    classifier = KappaGCNClassifier("H4", epochs=2, verbose=False)
    classify(classifier, data, [random_split(data.y, 0)], tmp_path / "run")
    assert (len(built), len(fits)) == (1, 1)
    assert assembled == [[], [], []], "the caller has read it"
