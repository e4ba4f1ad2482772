"""Link prediction over splits in a run folder: summary, resume, files."""

import json

import numpy as np
import pytest

from kappagcn import KappaGCNLinkPredictor
from kappagcn.errors import CheckpointError
from kappagcn.graphs import classic, read_edge_split
from kappagcn.links.validation import link_splits, predict_links
from kappagcn.run_folder import SavedRun


def predictor(**options):
    return KappaGCNLinkPredictor("H3", epochs=8, verbose=False, **options)


@pytest.fixture(scope="module")
def data():
    return classic("les_miserables")


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("links") / "run"
    return folder, predict_links(predictor(), data, link_splits(predictor(), data, 2), folder)


def test_the_summary_has_metrics_with_intervals_and_baselines(run):
    folder, summary = run
    assert summary["splits"] == 2
    assert set(summary["metrics"]) == set(summary["intervals"]) == set(summary["baselines"]["degree product"])
    assert summary["roc_auc"] == np.mean([record["test"]["roc_auc"] for record in summary["records"]])
    low, high = summary["intervals"]["roc_auc"]
    assert low <= summary["roc_auc"] <= high
    saved = SavedRun(folder)
    assert saved.kind == "links"
    written = json.loads(json.dumps(summary))
    resumed = {"seconds", "records"}  # differ, because another test resumes
    assert {k: v for k, v in written.items() if k not in resumed}.items() <= saved.summary.items()
    assert saved.summary["call"].startswith("KappaGCNLinkPredictor(space='H3'")
    assert [each["test"] for each in saved.summary["records"]] == [each["test"] for each in written["records"]]
    assert len(saved.links.probabilities) == 100
    assert len(saved.metrics) == summary["epochs"]
    assert saved.embedded.points.shape == (77, 3)


def test_the_splits_are_kept(run, data):
    folder, summary = run
    kept = read_edge_split(folder / "split.npz", data)
    assert 2 * kept.final_test_pairs().edges.shape[1] == summary["test_pairs"]


def test_a_finished_run_is_read_back_and_an_unfinished_one_continued(run, data, tmp_path):
    folder, summary = run
    splits = link_splits(predictor(), data, 2)
    assert predict_links(predictor(), data, splits, folder, resume=True) == summary
    for name in ("summary.json", "links.npz"):
        (folder / name).unlink()
    (folder / "runs" / "split1" / "record.json").unlink()
    again = predict_links(predictor(), data, splits, folder, resume=True)
    assert again["metrics"] == summary["metrics"]
    assert again["curvatures"] == summary["curvatures"]
    with pytest.raises(CheckpointError, match="holds a run already"):
        predict_links(predictor(), data, splits, folder)
    with pytest.raises(CheckpointError, match=r"lr 0\.5 instead of 0\.02"):
        predict_links(predictor(lr=0.5), data, splits, folder, resume=True)


def test_without_test_edges_there_is_no_number(data, tmp_path):
    alone = predictor(test=0.0)
    summary = predict_links(alone, data, link_splits(alone, data, 1), tmp_path / "run")
    assert summary["roc_auc"] is None
    assert summary["verdict"] == "no test edges."
    assert len(SavedRun(tmp_path / "run").links.sources) == 100


def test_the_difference_to_a_simple_score_has_an_interval(run, data, tmp_path):
    _, summary = run
    best = summary["difference"]["baseline"]
    gaps = [record["test"]["roc_auc"] - record["baselines"][best]["roc_auc"] for record in summary["records"]]
    low, high = summary["difference"]["interval"]
    assert low <= min(gaps) <= max(gaps) <= high  # of two splits that share test edges
    single = predict_links(predictor(), data, link_splits(predictor(), data, 1), tmp_path / "run")
    low, high = single["difference"]["interval"]
    gap = single["roc_auc"] - single["baselines"][single["difference"]["baseline"]]["roc_auc"]
    assert low < gap < high
