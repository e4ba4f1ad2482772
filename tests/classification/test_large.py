"""A classifier on a mapped folder: the numbers of the graph in memory, in one process or several."""

import functools
import json
import signal

import numpy as np
import pytest
import torch

import large_worker
import workers
from kappagcn import KappaGCNClassifier
from kappagcn.classification.evaluation import run_metrics
from kappagcn.classification.fitting import fit
from kappagcn.classification.large import classify_folder
from kappagcn.errors import CheckpointError, ConfigError
from kappagcn.graphs import MappedGraph, disease, read_graph, save_graph
from kappagcn.graphs.partition import order_by_parts
from kappagcn.training.labelled import read_labels

OPTIONS = {"epochs": 8, "batch_size": 64, "num_neighbors": 4, "verbose": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs") / "disease"
    save_graph(disease(300), path)
    return path


def in_memory(folder, **options):
    data, split = read_graph(folder), MappedGraph(folder).split()
    classifier = KappaGCNClassifier("H4", self_features="off", **OPTIONS | options)
    return classifier.fit_split(data, read_labels(data), split), split


@pytest.mark.parametrize("options", [{}, {"feature_norm": "lengths"}, {"adjacency_norm": "row"}])
def test_batches_have_the_numbers_of_the_graph_in_memory(folder, options, tmp_path):
    fitted, split = in_memory(folder, **options)
    classifier = KappaGCNClassifier("H4", **OPTIONS | options)
    summary = classify_folder(classifier, folder, tmp_path / "run")
    for ours, theirs in zip(summary["history"], fitted.history_, strict=True):
        assert ours["train_loss"] == pytest.approx(theirs["train_loss"], rel=1e-4)
    expected = run_metrics(fitted.scores(), fitted._data, split)
    assert summary["accuracy"] == pytest.approx(expected["accuracy"], abs=0.034), "two of 60 nodes"
    predictions = np.load(tmp_path / "run" / "predictions.npz")
    agreement = (fitted.scores().argmax(1).numpy() == predictions["predicted"]).mean()
    assert agreement > 0.97
    loaded = KappaGCNClassifier.load(tmp_path / "run" / "model.safetensors")
    again = loaded.predict_proba(read_graph(folder))
    assert (again.argmax(1) == predictions["predicted"]).all()
    assert again.max(1) == pytest.approx(predictions["probability"], abs=1e-4)


def test_sparse_features_and_weights(tmp_path):
    data = disease(200)
    data.edge_weight = 1 + (data.edge_index.sum(0) % 5).float()
    data.x = (data.x.abs() > 1).float()
    data.x[:, 0] = 1
    save_graph(data, tmp_path / "dense")
    data.x = data.x.to_sparse_csr()
    save_graph(data, tmp_path / "sparse")
    options = {**OPTIONS, "feature_norm": "lengths", "dropout": 0.0}
    one, other = (
        classify_folder(KappaGCNClassifier("H4", **options), tmp_path / name, tmp_path / f"{name}-run")
        for name in ("dense", "sparse")
    )
    for first, second in zip(one["history"], other["history"], strict=True):
        assert first["train_loss"] == pytest.approx(second["train_loss"], rel=1e-3)


def test_a_resumed_run_has_the_same_settings_and_graph(folder, tmp_path):
    classify_folder(KappaGCNClassifier("H4", **OPTIONS), folder, tmp_path / "run")
    again = classify_folder(KappaGCNClassifier("H4", **OPTIONS), folder, tmp_path / "run", resume=True)
    assert again["epochs"] == OPTIONS["epochs"]
    for options in ({"feature_scale": 0.5}, {"batch_size": 32}):
        with pytest.raises(CheckpointError, match="expected to resume with the settings and data of the run"):
            classify_folder(KappaGCNClassifier("H4", **OPTIONS | options), folder, tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"feature_map": "points"}, "feature_map: expected tangent"),
        ({"edge_weights": "ignored"}, "edge_weights: expected"),
    ],
)
def test_settings_that_need_the_whole_graph_are_refused(folder, options, words, tmp_path):
    with pytest.raises(ConfigError, match=words):
        classify_folder(KappaGCNClassifier("H4", **OPTIONS | options), folder, tmp_path / "run")
    with pytest.raises(ConfigError, match="strategy: expected batches or halo, found 'whole'"):
        classify_folder(KappaGCNClassifier("H4"), folder, tmp_path / "run", strategy="whole")


@pytest.mark.parametrize("count", [1, 3])
def test_halo_has_the_weights_of_one_process(folder, count, tmp_path):
    parts = order_by_parts(folder, tmp_path / "parts", count)
    for worker in workers.group(large_worker.halo, count, tmp_path / "result.json", parts):
        _, complaints, code = worker.ended()
        assert code == 0, complaints[-3000:]
    result = json.loads((tmp_path / "result.json").read_text())
    data, model = read_graph(parts), large_worker.network()
    data.x = 0.1 * data.x.double()
    history = fit(model, data, MappedGraph(parts).split(), large_worker.CONFIG).history
    for ours, theirs in zip(result["history"], history, strict=True):
        assert ours["train_loss"] == pytest.approx(theirs["train_loss"], rel=1e-12)
    for name, tensor in model.state_dict().items():
        weights = torch.tensor(result["weights"][name], dtype=torch.float64)
        torch.testing.assert_close(weights, tensor.double(), rtol=1e-10, atol=1e-12)


def test_a_killed_worker_changes_no_number(folder, tmp_path):
    def finished(out, **options):
        group = workers.group(functools.partial(large_worker.batches, folder, out, **options), 2)
        return [worker.ended() for worker in group]

    assert [code for *_, code in finished(tmp_path / "whole")] == [0, 0]
    first, second = finished(tmp_path / "killed", killed_rank=1, killed_epoch=3)
    assert second[2] == -signal.SIGKILL
    assert first[2] not in (0, None)
    assert not (tmp_path / "killed" / "summary.json").exists()
    assert [code for *_, code in finished(tmp_path / "killed", resume=True)] == [0, 0]
    whole, killed = (json.loads((tmp_path / name / "summary.json").read_text()) for name in ("whole", "killed"))
    assert len(killed["history"]) == 6
    for ours, theirs in zip(killed["history"], whole["history"], strict=True):
        assert ours == theirs
    assert killed["accuracy"] == whole["accuracy"]
