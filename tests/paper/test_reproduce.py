"""Plans, their runs and committed records."""

import json
import lzma
from pathlib import Path

import pytest

from kappagcn.errors import ConfigError
from kappagcn.graphs.datasets.graph_dataset import load_benchmark
from kappagcn.graphs.io.node_data import are_words, one_hot
from kappagcn.paper import Cell, Experiment, Job
from kappagcn.paper.reproduce import CELLS, FURTHER, MEASURED, line, plan
from kappagcn.training.estimate import bootstrapped
from kappagcn.training.networks import default_normalization
from random_graphs import data_folder, needs_data

RECORDS = Path(__file__).parents[2] / "records"
# Runs that the committed tables show, and those that their searches took.
COMMITTED = {
    "table1": 54, "sweep": 242, "large": 3, "table2": 200, "table3": 120, "wider": 160, "self-training": 120,
    "further": 150, "links": 240, "search": 345, "wider-search": 68,
}  # fmt: skip


def test_a_plan_runs_once_and_makes_its_table(tmp_path):
    quick = plan("further", ["disease/H16", "disease/gcn"], tmp_path, quick=True)
    seen = []
    quick.run(report=lambda record, done, count: seen.append((line(record), done, count)))
    assert [(done, count) for _, done, count in seen] == [(1, 2), (2, 2)]
    assert seen[0][0].startswith("disease gcn E16, split 0, run 0: test accuracy 0.")
    table = quick.table()
    assert table.columns == ["", "E16 (GCN)", "H16 (κ-GCN)"]
    assert table.rows[0][0] == FURTHER["disease"]
    assert 0.6 < float(table.rows[0][2]) < 1
    quick.run(report=lambda *_: pytest.fail("done twice"))
    stranger = json.loads((tmp_path / "quick" / "further.jsonl").read_text().splitlines()[1])
    stranger["experiment"]["dropout"], stranger["test"]["accuracy"] = 0.123, 0.0
    quick.file.append(stranger)
    assert quick.table() == table  # other settings in the same file are not this plan's


def test_plans_that_make_no_sense_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="table3: expected a cell of that table, found none in gcn"):
        plan("table3", ["gcn"], tmp_path)
    with pytest.raises(ConfigError, match="search: expected no quick, found True; a search has a budget"):
        plan("search", [], tmp_path, quick=True)
    with pytest.raises(ValueError, match="expected at least one value"):
        bootstrapped([])


@needs_data
def test_defaults_of_further_datasets_are_those_of_their_features():
    for dataset in FURTHER:
        data = load_benchmark(dataset, data_folder())[0]
        x = one_hot(data.num_nodes) if data.get("x") is None else data.x
        assert are_words(x) == (dataset not in MEASURED)
        [experiment] = [e for cell, e in plan("further", [f"{dataset}/H16"], RECORDS).experiments()]
        assert experiment.settings.feature_norm == default_normalization(x)
        assert (experiment.settings.dropout > 0) == are_words(x)


def test_lines_about_runs():
    failed = {"experiment": Experiment("disease", "gcn").record(), "split": 0, "run": 1, "failed": "why"}
    assert line(failed) == "disease gcn E16, split 0, run 1: why"


@pytest.mark.parametrize("item", CELLS)
def test_the_committed_records_are_those_of_the_committed_settings(item):
    records = plan(item, [], RECORDS).records()
    assert sum(map(len, records.values())) == COMMITTED[item]


def test_a_packed_file_and_the_lines_beside_it_are_one(tmp_path):
    quick = plan("further", ["disease/gcn"], tmp_path, quick=True)
    quick.run()
    packed = quick.file.path.with_name(quick.file.path.name + ".xz")
    (record,) = quick.file.records()
    packed.write_bytes(lzma.compress(quick.file.path.read_bytes()))
    assert quick.file.records() == [record, record]
    quick.file.path.unlink()
    quick.run(report=lambda *_: pytest.fail("done twice"))
    assert quick.records()[Cell("disease", "gcn")] == [record]


@needs_data
def test_a_committed_run_comes_out_again(tmp_path):
    """The shortest one: rounding differs between processors and versions, and training makes it grow."""
    records = plan("table2", ["airport"], RECORDS).records().values()
    record = min((r for of_cell in records for r in of_cell), key=lambda r: r["epochs"])
    from kappagcn.paper import run

    again = run(Job(Experiment.from_record(record["experiment"]), record["split"], record["run"]), data_folder())
    assert again["test"]["accuracy"] == pytest.approx(record["test"]["accuracy"], abs=0.05)
