"""Rows beside the paper's, with a search of their own."""

from pathlib import Path

import pytest

from kappagcn.errors import ConfigError
from kappagcn.paper import DATASETS, Cell, Job, RecordFile, accuracy_table, load_settings
from kappagcn.paper.cells import WIDER_ROWS
from kappagcn.paper.reproduce import ROUNDS, plan
from kappagcn.paper.searching import DRAWN, FLAT_ROW, budget, chosen, settings

RECORDS = Path(__file__).parents[2] / "records"
EVERY = [Cell(dataset, row) for dataset in DATASETS for row in WIDER_ROWS]


@pytest.mark.parametrize("dataset", [each for each in DATASETS if each != "pubmed"])
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
    for dataset, row, units in (*(("cora_ml", row, "64") for row in WIDER_ROWS), ("pubmed", "appnp", "32")):
        first = settings(Cell(dataset, row))[0].settings
        assert (first.space[1:], first.feature_norm, first.l2) == (units, "rows", 5e-3)
        assert first.dropout == first.input_dropout == first.adjacency_dropout == 0.5
        assert (first.alpha, first.propagation_steps, first.patience, first.stop_by) == (0.1, 10, 100, "either")


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


def test_the_committed_settings_are_those_the_committed_search_chose():
    """Where the search was run to its end; the others are candidates."""
    finished, table = plan("wider-search", [], RECORDS).file.finished(), load_settings()
    searched = [cell for cell in EVERY if chosen(cell, finished) is not None]
    assert len(searched) > 10
    for cell in EVERY:
        assert table[cell.name] in settings(cell, finished), cell.name
        if cell in searched:
            assert table[cell.name] == chosen(cell, finished)[0], cell.name
    assert not any("test" in record for record in finished.values())


def test_rows_with_self_training_differ_in_it_alone():
    plans = [plan(item, [], RECORDS) for item in ("wider", "self-training")]
    pairs = list(zip(*(each.experiments() for each in plans), strict=True))
    assert len(pairs) == len(EVERY)
    for (cell, plain), (same, taught) in pairs:
        assert same == cell
        assert taught.record() == {**plain.record(), "self_training": ROUNDS}
    assert plans[0].file.path != plans[1].file.path
