"""Plans, their runs and committed records."""

import json
from pathlib import Path

import pytest

from kappagcn.classification.network import default_normalization
from kappagcn.errors import ConfigError
from kappagcn.graphs.datasets.benchmark import load_benchmark
from kappagcn.graphs.io.node_data import are_words
from kappagcn.paper import Cell, Experiment, Job, cells
from kappagcn.paper.cells import record_file
from kappagcn.paper.reproduce import FURTHER, MEASURED, Plan, line
from kappagcn.training.estimate import bootstrapped
from random_graphs import data_folder, needs_data

RESULTS = Path(__file__).parents[2] / "results"


EVERY = cells()


def test_a_plan_runs_once_and_makes_its_table(tmp_path):
    plan = Plan("further", ["disease/H16", "disease/gcn"], tmp_path, quick=True)
    seen = []
    plan.run(report=lambda record, done, count: seen.append((line(record), done, count)))
    assert [(done, count) for _, done, count in seen] == [(1, 2), (2, 2)]
    assert seen[0][0].startswith("disease gcn E16, split 0, run 0: test accuracy 0.")
    table = plan.table()
    assert table.columns == ["", "E16 (GCN)", "H16 (κ-GCN)"]
    assert table.rows[0][0] == FURTHER["disease"]
    assert 0.6 < float(table.rows[0][2]) < 1
    plan.run(report=lambda *_: pytest.fail("done twice"))
    assert list(tmp_path.glob("quick/further/disease/*.jsonl"))
    stranger = json.loads((tmp_path / "quick/further/disease/H16.jsonl").read_text())
    stranger["experiment"]["dropout"], stranger["test"]["accuracy"] = 0.123, 0.0
    record_file(tmp_path / "quick/further", Cell("disease", "H16")).append(stranger)
    assert plan.table() == table  # other settings in the same file are not this plan's


def test_plans_that_make_no_sense_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="table3: expected a cell of that table, found none in gcn"):
        Plan("table3", ["gcn"], tmp_path)
    with pytest.raises(ConfigError, match="search: expected its own budget"):
        Plan("search", [], tmp_path, quick=True)
    with pytest.raises(ValueError, match="expected at least one value"):
        bootstrapped([])


@needs_data
def test_defaults_of_further_datasets_are_those_of_their_features():
    for dataset in FURTHER:
        x = load_benchmark(dataset, data_folder()).data.x
        assert are_words(x) == (dataset not in MEASURED)
        [experiment] = [e for cell, e in Plan("further", [f"{dataset}/H16"], RESULTS).experiments()]
        assert experiment.settings.feature_norm == default_normalization(x)
        assert (experiment.settings.dropout > 0) == are_words(x)


def test_lines_about_runs():
    failed = {"experiment": Experiment("disease", "gcn").record(), "split": 0, "run": 1, "failed": "why"}
    assert line(failed) == "disease gcn E16, split 0, run 1: why"


@pytest.mark.parametrize("cell", EVERY, ids=lambda cell: cell.name)
def test_the_committed_runs_are_those_of_the_committed_settings(cell):
    finished = record_file(RESULTS / "table2", cell).finished()
    plan = Plan("table2", [cell.name], RESULTS)
    assert {job.key for job, _ in plan.jobs()} == set(finished)
    assert len(finished) == 10


@needs_data
def test_a_committed_run_comes_out_again(tmp_path):
    """The shortest one: rounding differs between processors and versions, and training makes it grow."""
    records = [r for cell in cells(["airport"]) for r in record_file(RESULTS / "table2", cell).records()]
    record = min(records, key=lambda r: r["epochs"])
    from kappagcn.paper import run

    again = run(Job(Experiment.from_record(record["experiment"]), record["split"], record["run"]), data_folder())
    assert again["test"]["accuracy"] == pytest.approx(record["test"]["accuracy"], abs=0.05)
