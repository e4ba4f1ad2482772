"""The search for settings."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kappagcn.classification.network import build_network
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.geometry.signature import parse_signature
from kappagcn.paper import DATASETS, ROWS, Cell, Job, RecordFile, cells, load_settings, settings
from kappagcn.paper.reproduce import plan, save_chosen
from kappagcn.paper.searching import BUDGETS, Budget, chosen, halving
from random_graphs import data_folder, needs_data

RECORDS = Path(__file__).parents[2] / "records"
EVERY = cells()


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
    budget = BUDGETS["cora_ml"]
    file, tried = RecordFile(tmp_path / "search.jsonl"), settings(cell)
    first = dict(enumerate(np.random.default_rng(0).permutation(budget.draws) / 100))

    def add(experiment, split, score):
        job = Job(experiment, split, 0, "validation")
        results = {} if score is None else {"validation_accuracy": score}
        file.append(
            {"experiment": job.experiment.record(), "purpose": "validation", "split": split, "run": 0, **results}
        )

    for i, experiment in enumerate(tried):
        add(experiment, 0, None if first[i] == 0.19 else first[i])  # the best diverged
    stay = halving(cell).kept(tried, file.finished())
    order = sorted((i for i in first if first[i] < 0.19), key=lambda i: -first[i])[: budget.kept]
    assert stay == [tried[i] for i in order]
    assert chosen(cell, file.finished()) is None, "not before the last round is finished"
    for place, experiment in enumerate(stay):
        for split in range(1, budget.splits):
            add(experiment, split, 0.5 if place == 2 else 0.3)
    best, score = chosen(cell, file.finished())
    assert best == stay[2]
    assert score == pytest.approx((first[order[2]] + 0.5 * (budget.splits - 1)) / budget.splits)


def test_the_committed_settings_are_those_the_committed_search_chose():
    finished = plan("search", [], RECORDS).file.finished()
    table = load_settings()
    for cell in EVERY:
        assert table[cell.name] == chosen(cell, finished)[0], cell.name
    budgets = [BUDGETS[cell.dataset] for cell in EVERY]
    assert len(finished) == sum(b.draws + b.kept * (b.splits - 1) for b in budgets)
    assert not any("test" in record for record in finished.values())
