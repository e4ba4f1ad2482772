"""Rows beside the paper's, with a search of their own."""

from pathlib import Path

import pytest

from kappagcn.paper import DATASETS, Cell
from kappagcn.paper.cells import CONFIGS, record_file
from kappagcn.paper.reproduce import Plan
from kappagcn.paper.searching import budget, chosen, settings
from kappagcn.paper.tables import accuracy_table
from kappagcn.paper.wider import WIDER_ROWS

RESULTS = Path(__file__).parents[2] / "results"
EVERY = [Cell(dataset, row) for dataset in DATASETS for row in WIDER_ROWS]
SEARCHED = [cell for cell in EVERY if record_file(RESULTS / "wider-search", cell).path.exists()]


@pytest.mark.parametrize("dataset", DATASETS)
def test_all_rows_try_the_same_settings(dataset):
    own = {row: settings(Cell(dataset, row)) for row in WIDER_ROWS}
    assert {len(each) for each in own.values()} == {budget(Cell(dataset, "appnp")).draws}
    for one in zip(*own.values(), strict=True):
        shared = [{k: v for k, v in e.record().items() if k not in ("model", "space")} for e in one]
        assert all(each == shared[0] for each in shared)
        assert [e.model for e in one] == ["gcn", "kappa-gcn", "appnp", "appnp"]
        assert [e.settings.space[0] == "E" for e in one] == [True, False, True, False]


def test_curvatures_start_below_at_and_above_zero():
    starts = {e.settings.space for e in settings(Cell("cora_ml", "kappa-appnp"))}
    assert {space[0] for space in starts} == {"H", "U", "S"}


def test_the_settings_that_ppnp_published_are_tried_first():
    for row in WIDER_ROWS:
        first = settings(Cell("pubmed", row))[0].settings
        assert (first.space[1:], first.feature_norm, first.l2) == ("64", "rows", 5e-3)
        assert first.dropout == first.input_dropout == first.adjacency_dropout == 0.5
        assert (first.alpha, first.propagation_steps, first.patience, first.stop_by) == (0.1, 10, 100, "either")


def test_rows_that_the_paper_does_not_have_stand_without_its_numbers(tmp_path):
    records = Plan("wider-search", ["cora_ml"], tmp_path).cells
    assert accuracy_table({cell: [] for cell in records}).rows == [[title, "no runs"] for title in WIDER_ROWS.values()]


@pytest.mark.parametrize("cell", SEARCHED, ids=lambda cell: cell.name)
def test_the_committed_settings_are_those_the_committed_search_chose(cell):
    file = record_file(RESULTS / "wider-search", cell)
    assert cell.experiment(CONFIGS / "wider") == chosen(cell, RESULTS / "wider-search")[0]
    assert len(file.finished()) == budget(cell).runs
    assert all("test" not in record for record in file.records())


@pytest.mark.parametrize("cell", EVERY, ids=lambda cell: cell.name)
def test_the_committed_settings_are_candidates(cell):
    assert cell.experiment(CONFIGS / "wider") in settings(cell)
