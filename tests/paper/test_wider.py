"""Rows beside the paper's, with a search of their own."""

import pytest

from kappagcn.paper import DATASETS, Cell
from kappagcn.paper.cells import CONFIGS
from kappagcn.paper.reproduce import Plan
from kappagcn.paper.searching import budget, settings
from kappagcn.paper.tables import accuracy_table
from kappagcn.paper.wider import WIDER_ROWS


@pytest.mark.parametrize("dataset", DATASETS)
def test_all_rows_try_the_same_settings(dataset):
    own = {row: settings(Cell(dataset, row)) for row in WIDER_ROWS}
    assert {len(each) for each in own.values()} == {budget(Cell(dataset, "appnp")).draws}
    for one in zip(*own.values(), strict=True):
        shared = [{k: v for k, v in e.record().items() if k not in ("model", "space")} for e in one]
        assert all(each == shared[0] for each in shared)
        assert [e.model for e in one] == ["gcn", "appnp", "kappa-gcn", "appnp"]
        assert [e.settings.space[0] == "E" for e in one] == [True, True, False, False]


def test_curvatures_start_below_at_and_above_zero():
    starts = {e.settings.space for e in settings(Cell("cora_ml", "kappa-appnp"))}
    assert starts == {"H16(-0.1)", "U16", "S16(0.1)"}


def test_rows_that_the_paper_does_not_have_stand_without_its_numbers(tmp_path):
    records = Plan("wider-search", ["cora_ml"], tmp_path).cells
    assert accuracy_table({cell: [] for cell in records}).rows == [[title, "no runs"] for title in WIDER_ROWS.values()]


@pytest.mark.parametrize("row", WIDER_ROWS)
@pytest.mark.parametrize("dataset", DATASETS)
def test_the_committed_settings_are_of_the_list(dataset, row):
    cell = Cell(dataset, row)
    assert cell.experiment(CONFIGS / "wider") in settings(cell)
