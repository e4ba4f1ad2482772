"""The search, what it chose, and the tables."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kappagcn.errors import ConfigError
from kappagcn.experiments import DATASETS, ROWS, Cell, Experiment, Job, bootstrapped, cells, load_benchmark, settings
from kappagcn.experiments import accuracy_table as accuracy_table_of
from kappagcn.experiments import curvature_table as curvature_table_of
from kappagcn.experiments.cells import CURVED, record_file
from kappagcn.experiments.defaults import are_words, default_normalization
from kappagcn.experiments.reproduce import FURTHER, MEASURED, Plan, line
from kappagcn.experiments.searching import BUDGETS, Budget, chosen, kept
from kappagcn.experiments.tables import Estimate, paper
from kappagcn.training import TrainingConfig
from random_graphs import data_folder, needs_data

RESULTS = Path(__file__).parents[2] / "results"
EVERY = cells()


def test_cells_by_name():
    assert len(EVERY) == 20
    assert [cell.name for cell in cells(["cora_ml"])] == [f"cora_ml/{row}" for row in ROWS]
    assert [cell.name for cell in cells(["cora_ml", "S16", "gcn"])] == ["cora_ml/gcn", "cora_ml/S16"]
    assert [cell.name for cell in cells(["cora_ml/prod", "airport", "S16"])] == ["cora_ml/prod", "airport/S16"]
    assert [cell.name for cell in cells(["S16"])] == [f"{dataset}/S16" for dataset in DATASETS]
    with pytest.raises(ConfigError, match=r"expected one of .*gcn.*, or two as in citeseer/gcn, found 'cora'"):
        cells(["cora"])


@pytest.mark.parametrize("dataset", DATASETS)
def test_all_networks_have_the_same_budget_and_draws(dataset):
    found = {row: settings(Cell(dataset, row)) for row in ROWS}
    draws = BUDGETS[dataset].draws
    for each in found.values():
        assert len({json.dumps(e.record()) for e in each}) == draws
    curved = {row: each for row, each in found.items() if row != "gcn" or dataset != "airport"}  # too few to draw from
    for one in zip(*curved.values(), strict=True):
        assert len({json.dumps(e.record()["features"]) for e in one}) == 1
        assert len({(e.training.lr, e.training.l2, e.options["dropout"], e.options["dropconnect"]) for e in one}) == 1
        assert all(e.training.epochs == 2000 and e.training.patience == 200 for e in one)
        for row, experiment in zip(curved, one, strict=True):
            assert experiment.model == (row if row in ("gcn", "hgcn") else "kappa-gcn")
            build = experiment.build(30, 3)
            assert build.hidden[0].weight.numel() == 30 * 16 or (row == "prod" and experiment.options["split_input"])
    assert settings(Cell(dataset, "H16")) == found["H16"]
    drawn = [e.training.lr for e in found["gcn"][1:]]
    assert abs(drawn.count(0.01) - drawn.count(0.02)) <= 1
    assert [k < 0 for e in found["H16"] for k in e.kappas()] == [True] * draws
    assert [k > 0 for e in found["S16"] for k in e.kappas()] == [True] * draws


@needs_data
def test_what_a_search_chose_is_what_a_table_takes(tmp_path, monkeypatch):
    monkeypatch.setitem(BUDGETS, "airport", Budget(3, 2, 2))
    monkeypatch.setattr("kappagcn.experiments.searching.TrainingConfig", partial(TrainingConfig, epochs=3))
    plan = Plan("search", ["airport/S16"], tmp_path, data_folder())
    plan.run()
    assert len(record_file(tmp_path / "search", plan.cells[0]).records()) == 5
    plan.save_chosen(tmp_path / "configs")
    assert plan.table().rows[0][0] == "airport/S16"
    table = Plan("table2", ["airport/S16"], tmp_path, data_folder(), configs=tmp_path / "configs", splits=1, runs=1)
    [(cell, experiment)] = table.experiments()
    assert experiment == chosen(cell, tmp_path / "search")[0]
    table.run()
    assert float(table.table().rows[0][1].split()[0]) > 0


def test_the_search_keeps_the_best_of_one_split_and_chooses_the_best_mean(tmp_path):
    cell = Cell("cora_ml", "S16")
    budget = BUDGETS["cora_ml"]
    file, every = record_file(tmp_path, cell), settings(cell)
    first = dict(enumerate(np.random.default_rng(0).permutation(budget.draws) / 100))

    def add(experiment, split, score):
        job = Job(experiment, split, 0, "validation")
        found = {} if score is None else {"validation_accuracy": score}
        file.append({"experiment": job.experiment.record(), "purpose": "validation", "split": split, "run": 0, **found})

    for i, experiment in enumerate(every):
        add(experiment, 0, None if first[i] == 0.19 else first[i])  # the best diverged
    stay = kept(cell, tmp_path)
    order = sorted((i for i in first if first[i] < 0.19), key=lambda i: -first[i])[: budget.kept]
    assert stay == [every[i] for i in order]
    for place, experiment in enumerate(stay):
        for split in range(1, budget.splits):
            add(experiment, split, 0.5 if place == 2 else 0.3)
    best, score = chosen(cell, tmp_path)
    assert best == stay[2]
    assert score == pytest.approx((first[order[2]] + 0.5 * (budget.splits - 1)) / budget.splits)


def test_bootstrap_interval_is_that_of_the_mean():
    rng = np.random.default_rng(3)
    values = rng.normal(0.8, 0.02, 40)
    found = bootstrapped(values)
    assert found.mean == values.mean()
    assert found.interval == pytest.approx(1.96 * values.std() / 40**0.5, rel=0.15)
    hits = sum(abs((e := bootstrapped(rng.normal(0, 1, 20))).mean) < e.interval for _ in range(300))
    assert 0.88 < hits / 300 < 0.98
    assert bootstrapped([0.7]) == Estimate(0.7, None)
    assert str(Estimate(-1.25, 0.5)) == "−1.250 ± 0.500"
    assert str(Estimate(0.7, None)) == "0.700"


def fake(cell):
    kappas = [[-1.0, 2.0], [-2.0, 4.0]] if cell.row == "prod" else [[0.5], [0.7]]
    return [{"test": {"accuracy": a}, "curvatures": k} for a, k in zip((0.8, 0.9), kappas, strict=True)] + [
        {"failed": "diverged"}
    ]


def test_tables_have_ours_and_the_papers():
    table = accuracy_table_of({cell: fake(cell) for cell in EVERY})
    assert table.columns == ["", "Citeseer", "Cora-ML", "Pubmed", "Airport"]
    assert [row[0] for row in table.rows] == list(ROWS.values())
    assert table.rows[0][1] == "0.850 ± 0.050, 1 of 3 runs diverged (paper 0.729 ± 0.005)"
    curves = curvature_table_of({cell: fake(cell) for cell in EVERY})
    assert [row[0] for row in curves.rows] == [ROWS[row] for row in CURVED]
    assert curves.rows[2][1] == "−1.500 ± 0.500, 3.000 ± 1.000 (paper 1.21 ± 0.09, −0.64 ± 0.07)"
    none = accuracy_table_of({Cell("airport", "S16"): []})
    assert none.rows == [["S16 (κ-GCN)", "no runs (paper 0.809 ± 0.006)"]]
    assert none.columns == ["", "Airport"]


def test_the_papers_best_are_those_it_prints_in_bold():
    best = {d: max(paper()["accuracy"], key=lambda row: paper()["accuracy"][row][d][0]) for d in DATASETS}
    assert best == {"citeseer": "H16", "cora_ml": "S16", "pubmed": "hgcn", "airport": "hgcn"}


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
    stranger["experiment"]["options"]["dropout"], stranger["test"]["accuracy"] = 0.123, 0.0
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
        assert experiment.features.normalize == default_normalization(x)
        assert (experiment.options["dropout"] > 0) == are_words(x)


def test_lines_about_runs():
    failed = {"experiment": Experiment("disease", "gcn").record(), "split": 0, "run": 1, "failed": "why"}
    assert line(failed) == "disease gcn E16, split 0, run 1: why"


@pytest.mark.parametrize("cell", EVERY, ids=lambda cell: cell.name)
def test_the_committed_settings_are_those_the_committed_search_chose(cell):
    best, _ = chosen(cell, RESULTS / "search")
    assert cell.experiment() == best
    assert len(record_file(RESULTS / "search", cell).finished()) == BUDGETS[cell.dataset].runs
    assert all("test" not in record for record in record_file(RESULTS / "search", cell).records())


@pytest.mark.parametrize("cell", EVERY, ids=lambda cell: cell.name)
def test_the_committed_runs_are_those_of_the_committed_settings(cell):
    finished = record_file(RESULTS / "table2", cell).finished()
    plan = Plan("table2", [cell.name], RESULTS)
    assert {job.key for job, _ in plan.jobs()} == set(finished)
    assert len(finished) == 10


@needs_data
def test_a_committed_run_comes_out_again(tmp_path):
    """The shortest one, to the last digit on the machine of the record; elsewhere sums may differ in theirs."""
    found = [r for cell in cells(["airport"]) for r in record_file(RESULTS / "table2", cell).records()]
    record = min(found, key=lambda r: r["epochs"])
    from kappagcn.experiments import run
    from kappagcn.experiments.runs import machine, versions

    again = run(Job(Experiment.from_record(record["experiment"]), record["split"], record["run"]), data_folder())
    if (machine(), versions()) == (record["machine"], record["versions"]):
        assert again["test"] == record["test"]
        assert again["curvature_path"] == record["curvature_path"]
    assert again["test"]["accuracy"] == pytest.approx(record["test"]["accuracy"], abs=0.05)
