"""The search for settings, of the paper's rows and of those beside them."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kappagcn.classification.network import build_network
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.geometry.signature import parse_signature
from kappagcn.paper import DATASETS, ROWS, Cell, Job, RecordFile, accuracy_table, cells, load_settings, settings
from kappagcn.paper.cells import WIDER_ROWS
from kappagcn.paper.reproduce import ROUNDS, plan, save_chosen
from kappagcn.paper.searching import BUDGETS, DRAWN, FLAT_ROW, Budget, budget, chosen, halving
from random_graphs import data_folder, needs_data

RECORDS = Path(__file__).parents[2] / "records"
PAPERS, WIDER = cells(), [Cell(dataset, row) for dataset in DATASETS for row in WIDER_ROWS]


@pytest.mark.parametrize("dataset", DATASETS)
def test_all_networks_have_the_same_budget_and_draws(dataset):
    result = {row: settings(Cell(dataset, row)) for row in ROWS}
    draws = BUDGETS[dataset].draws
    for each in result.values():
        assert len({json.dumps(e.record()) for e in each}) == draws
    curved = {row: each for row, each in result.items() if row != "gcn" or dataset != "airport"}  # too few to draw from
    for one in zip(*curved.values(), strict=True):
        own = [e.settings for e in one]
        assert len({(s.feature_norm, s.feature_map, s.feature_scale) for s in own}) == 1
        assert len({(s.lr, s.l2, s.dropout, s.dropconnect, s.adjacency_norm) for s in own}) == 1
        assert all(s.epochs == 2000 and s.patience == 200 for s in own)
        for row, experiment in zip(curved, one, strict=True):
            assert experiment.model == (row if row in ("gcn", "hgcn") else "kappa-gcn")
            build = build_network(experiment.settings, 30, 3)
            assert build.hidden[0].lin.weight.numel() == 30 * 16 or (row == "prod" and experiment.settings.split_input)
    assert settings(Cell(dataset, "H16")) == result["H16"]
    drawn = [e.settings.lr for e in result["gcn"][1:]]
    assert abs(drawn.count(0.01) - drawn.count(0.02)) <= 1
    assert [f.kappa < 0 for e in result["H16"] for f in parse_signature(e.settings.space)] == [True] * draws
    assert [f.kappa > 0 for e in result["S16"] for f in parse_signature(e.settings.space)] == [True] * draws


@needs_data
def test_what_a_search_chose_is_what_a_table_takes(tmp_path, monkeypatch):
    monkeypatch.setitem(BUDGETS, "airport", Budget(3, 2, 2))
    monkeypatch.setattr("kappagcn.paper.searching.ClassificationSettings", partial(ClassificationSettings, epochs=3))
    searched = plan("search", ["airport/S16"], tmp_path, data_folder())
    searched.run()
    assert len(searched.file.records()) == 5
    save_chosen(searched, tmp_path / "settings.toml")
    assert searched.table().rows[0][0] == "airport/S16"
    options = {"configs": tmp_path / "settings.toml", "splits": 1, "runs": 1}
    table = plan("table2", ["airport/S16"], tmp_path, data_folder(), **options)
    [(cell, experiment)] = table.experiments()
    assert experiment == chosen(cell, searched.file.finished())[0]
    table.run()
    assert float(table.table().rows[0][1].split()[0]) > 0
    with pytest.raises(ConfigError, match="expected settings of airport/H16, found airport/S16"):
        plan("table2", ["airport/H16"], tmp_path, configs=tmp_path / "settings.toml")


def test_the_search_keeps_the_best_of_one_split_and_chooses_the_best_mean(tmp_path):
    cell = Cell("cora_ml", "S16")
    count = BUDGETS["cora_ml"]
    file, tried = RecordFile(tmp_path / "search.jsonl"), settings(cell)
    first = dict(enumerate(np.random.default_rng(0).permutation(count.draws) / 100))

    def add(experiment, split, score):
        job = Job(experiment, split, 0, "validation")
        results = {} if score is None else {"validation_accuracy": score}
        file.append(
            {"experiment": job.experiment.record(), "purpose": "validation", "split": split, "run": 0, **results}
        )

    for i, experiment in enumerate(tried):
        add(experiment, 0, None if first[i] == 0.19 else first[i])  # the best diverged
    stay = halving(cell).kept(tried, file.finished())
    order = sorted((i for i in first if first[i] < 0.19), key=lambda i: -first[i])[: count.kept]
    assert stay == [tried[i] for i in order]
    assert chosen(cell, file.finished()) is None, "not before the last round is finished"
    for place, experiment in enumerate(stay):
        for split in range(1, count.splits):
            add(experiment, split, 0.5 if place == 2 else 0.3)
    best, score = chosen(cell, file.finished())
    assert best == stay[2]
    assert score == pytest.approx((first[order[2]] + 0.5 * (count.splits - 1)) / count.splits)


@pytest.mark.parametrize(("item", "table"), [("search", PAPERS), ("wider-search", WIDER)])
def test_the_committed_settings_are_those_the_committed_search_chose(item, table):
    """Where the search was run to its end; of the others they are candidates."""
    finished, chosen_settings = plan(item, [], RECORDS).file.finished(), load_settings()
    searched = {cell: chosen(cell, finished) for cell in table}
    assert sum(choice is not None for choice in searched.values()) > 10
    for cell, choice in searched.items():
        assert chosen_settings[cell.name] in ([choice[0]] if choice else settings(cell, finished)), cell.name
    assert not any("test" in record for record in finished.values())
    if item == "search":
        budgets = [BUDGETS[cell.dataset] for cell in table]
        assert all(searched.values())
        assert len(finished) == sum(b.draws + b.kept * (b.splits - 1) for b in budgets)


# Rows beside the paper's


@pytest.mark.parametrize("dataset", [each for each in DATASETS if each != "pubmed"])
def test_all_rows_try_the_same_settings(dataset):
    own = {row: settings(Cell(dataset, row)) for row in WIDER_ROWS}
    assert {len(each) for each in own.values()} == {budget(Cell(dataset, "appnp")).draws}
    for one in zip(*own.values(), strict=True):
        shared = [{k: v for k, v in e.record().items() if k not in ("model", "space")} for e in one]
        assert all(each == shared[0] for each in shared)
        assert [e.model for e in one] == ["gcn", "kappa-gcn", "appnp", "appnp"]
        assert [e.settings.space[0] == "E" for e in one] == [True, False, True, False]


def test_flat_rows_on_pubmed_have_as_many_distinct_settings_from_the_same_lists():
    for row in ("gcn-wider", "appnp"):
        own = settings(Cell("pubmed", row))
        assert len({Job(e, 0).key for e in own}) == budget(Cell("pubmed", row)).draws == 12
        for name, values in DRAWN.items():
            tried = {getattr(e.settings, name) for e in own}
            unused = row == "gcn-wider" and name in ("alpha", "propagation_steps")
            assert len(tried) == 1 if unused else tried == set(values)


@pytest.mark.parametrize("row", FLAT_ROW)
def test_curved_rows_on_pubmed_take_the_flat_rows_settings(row, tmp_path):
    cell, flat = Cell("pubmed", row), Cell("pubmed", FLAT_ROW[row])
    file = RecordFile(tmp_path / "wider-search.jsonl")
    with pytest.raises(ConfigError, match=f"{flat.name}: expected"):
        settings(cell, file.finished())
    for split in range(budget(flat).splits):
        for i, experiment in enumerate(settings(flat)):
            scores = {"validation_accuracy": 0.9 if i == 4 else 0.5}
            record = {"experiment": experiment.record(), "purpose": "validation", "split": split, "run": 0, **scores}
            file.append(record)
    best = chosen(flat, file.finished())[0]
    assert best == settings(flat)[4]
    own = settings(cell, file.finished())
    assert {e.settings.space for e in own} == {sign + best.settings.space[1:] for sign in "UHS"}
    for experiment in own:
        same = {**experiment.record(), "space": best.settings.space, "model": best.model}
        assert same == best.record()


def test_rows_that_the_paper_does_not_have_stand_without_its_numbers(tmp_path):
    records = plan("wider-search", ["cora_ml"], tmp_path).cells
    assert accuracy_table({cell: [] for cell in records}).rows == [[title, "no runs"] for title in WIDER_ROWS.values()]


def test_rows_with_self_training_differ_in_it_alone():
    plans = [plan(item, [], RECORDS) for item in ("wider", "self-training")]
    pairs = list(zip(*(each.experiments() for each in plans), strict=True))
    assert len(pairs) == len(WIDER)
    for (cell, plain), (same, taught) in pairs:
        assert same == cell
        assert taught.record() == {**plain.record(), "self_training": ROUNDS}
    assert plans[0].file.path != plans[1].file.path
