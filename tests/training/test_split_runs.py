"""The driver over splits: the best run is kept, finished runs are not repeated, other records are refused."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kappagcn.errors import CheckpointError
from kappagcn.graphs import Split, disease
from kappagcn.run_folder import Embedded, SavedRun
from kappagcn.training.settings import Settings
from kappagcn.training.split_runs import SplitRun, SplitRuns

DATA = disease(20)
TRAINED = []


class Learner(Settings):
    """An estimator that learns nothing but its seed."""

    command, model, space_, curvatures_, edge_weights_ = None, "none", "E2", [0.0], None
    result_ = SimpleNamespace(epochs=1, best_epoch=1)

    def get_params(self):
        return {"random_state": self.random_state}


class LearnerRuns(SplitRuns):
    kind = "learner"

    def train(self, estimator, split, *, folder, **run):
        TRAINED.append(estimator.random_state)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "metrics.jsonl").write_text(json.dumps({"epoch": estimator.random_state}) + "\n")
        return estimator

    def record(self, fitted, split_run):
        return {"seconds": 1.0, "right": {7: 0.5, 8: 0.9, 9: 0.9}[fitted.random_state]}

    def score(self, record):
        return (record["right"],)

    def arrays(self, fitted, split):
        return Embedded(np.zeros((20, 2)), np.zeros((20, 2)), np.array([2]), np.zeros(1), np.zeros((0, 2), int))

    def results(self, fitted, best, records):
        return {"kept": best.numbers["split"], "fitted": fitted.random_state}


def runs(folder, count=3):
    nodes = torch.arange(20).split(5)
    splits = [Split(*nodes, name=f"number {number}") for number in range(count)]
    return LearnerRuns(
        Learner(), DATA, [SplitRun(split, 7 + i, {"split": i}) for i, split in enumerate(splits)], folder
    )


@pytest.fixture
def folder(tmp_path):
    TRAINED.clear()
    return tmp_path / "run"


def test_the_first_of_the_best_runs_is_the_result(folder):
    reported = []
    summary = runs(folder).run({"data": "same"}, report=lambda record, done, count: reported.append((done, count)))
    assert (summary["kept"], summary["fitted"], summary["splits"], summary["seconds"]) == (1, 8, 3, 3.0)
    assert reported == [(1, 3), (2, 3), (3, 3)]
    assert TRAINED == [7, 8, 9]
    assert SavedRun(folder).metrics == [{"epoch": 8}]
    assert [record["split_name"] for record in SavedRun(folder).summary["records"]] == [
        "number 0",
        "number 1",
        "number 2",
    ]


def test_only_unfinished_runs_are_trained_again(folder):
    whole = runs(folder).run({})
    (folder / "runs" / "split2" / "record.json").unlink()
    TRAINED.clear()
    assert runs(folder).run({}, resume=True) == whole
    assert TRAINED == [9, 8], "the unfinished one, and then the best, whose weights are read back"
    with pytest.raises(CheckpointError, match="holds a run already"):
        runs(folder).run({})
    with pytest.raises(CheckpointError, match="data other instead of None"):
        runs(folder).run({"data": "other"}, resume=True)


def test_a_record_of_another_kind_is_refused(folder):
    runs(folder).run({})
    (folder / "runs" / "split0" / "record.json").write_text("{}")
    with pytest.raises(CheckpointError, match="expected the record of a run, found another"):
        runs(folder).run({}, resume=True)
