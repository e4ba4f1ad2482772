"""Plans, their runs and committed records."""

import json
import lzma
from pathlib import Path

import pytest

from kappagcn.errors import ConfigError
from kappagcn.graphs.datasets.graph_dataset import load_benchmark
from kappagcn.graphs.io.node_data import are_words, one_hot
from kappagcn.paper import DATASETS, ROWS, Cell, Experiment, Job, accuracy_table, cells, curvature_table, run
from kappagcn.paper.cells import CURVED
from kappagcn.paper.reproduce import CELLS, FURTHER, MEASURED, line, plan
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


@pytest.mark.parametrize(
    ("item", "parts", "options", "words"),
    [
        ("table3", ["gcn"], {}, "table3: expected a cell of that table, found none in gcn"),
        ("search", [], {"quick": True}, "search: expected no quick, found True; a search has a budget"),
        ("table2", ["cora"], {}, r"expected one of .*gcn.*, or two as in citeseer/gcn, found 'cora'"),
        ("table1", ["cora_ml"], {}, "expected one of tree, E10-linear"),
        ("sweep", ["tree"], {}, "sweep: expected no parts, found 'tree'"),
        ("table1", [], {"splits": 3}, "table1: expected no splits, found 3; an embedding has none"),
        ("large", [], {"runs": 3}, "large: expected no runs"),
        ("links", ["corra"], {}, "found 'corra'"),
        ("links", [], {"runs": 2}, "expected no runs"),
    ],
)
def test_what_a_plan_does_not_know_is_named(tmp_path, item, parts, options, words):
    with pytest.raises(ConfigError, match=words):
        plan(item, parts, tmp_path, **options)


def test_cells_by_name():
    assert len(cells()) == 20
    assert [cell.name for cell in cells(["cora_ml"])] == [f"cora_ml/{row}" for row in ROWS]
    assert [cell.name for cell in cells(["cora_ml", "S16", "gcn"])] == ["cora_ml/gcn", "cora_ml/S16"]
    assert [cell.name for cell in cells(["cora_ml/prod", "airport", "S16"])] == ["cora_ml/prod", "airport/S16"]
    assert [cell.name for cell in cells(["S16"])] == [f"{dataset}/S16" for dataset in DATASETS]


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
    again = run(Job(Experiment.from_record(record["experiment"]), record["split"], record["run"]), data_folder())
    assert again["test"]["accuracy"] == pytest.approx(record["test"]["accuracy"], abs=0.05)


# Tables


def fake(cell):
    kappas = [[-1.0, 2.0], [-2.0, 4.0]] if cell.row == "prod" else [[0.5], [0.7]]
    return [{"test": {"accuracy": a}, "curvatures": k} for a, k in zip((0.8, 0.9), kappas, strict=True)] + [
        {"failed": "diverged"}
    ]


def test_tables_have_ours_and_the_papers():
    table = accuracy_table({cell: fake(cell) for cell in cells()})
    assert table.columns == ["", "Citeseer", "Cora-ML", "Pubmed", "Airport"]
    assert [row[0] for row in table.rows] == list(ROWS.values())
    assert table.rows[0][1] == "0.850 ± 0.050, 1 of 3 runs diverged (paper 0.729 ± 0.005)"
    curves = curvature_table({cell: fake(cell) for cell in cells()})
    assert [row[0] for row in curves.rows] == [ROWS[row] for row in CURVED]
    assert curves.rows[2][1] == "−1.500 ± 0.500, 3.000 ± 1.000 (paper 1.21 ± 0.09, −0.64 ± 0.07)"
    none = accuracy_table({Cell("airport", "S16"): []})
    assert none.rows == [["S16 (κ-GCN)", "no runs (paper 0.809 ± 0.006)"]]
    assert none.columns == ["", "Airport"]
