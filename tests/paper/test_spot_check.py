"""The check of cells drawn at random against their records."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
pytest.importorskip("geoopt")

import spot_check
from kappagcn.paper import Experiment, Job, RecordFile, run_all
from spot_check import Cell, Value, check, drawn

DISEASE = Experiment("disease", "gcn")
SHORT = replace(DISEASE, settings=replace(DISEASE.settings, epochs=3))


@pytest.mark.parametrize(
    ("fresh", "larger_is_better", "verdict"),
    [
        (1.04, False, "as recorded"),
        (1.06, False, "MISS"),
        (0.9, False, "better"),
        (0.96, True, "as recorded"),
        (0.94, True, "MISS"),
        (1.1, True, "better"),
        (float("nan"), True, "MISS"),
    ],
)
def test_only_what_is_worse_by_more_than_the_margin_is_a_miss(fresh, larger_is_better, verdict):
    assert Value("", 1.0, 0.05, larger_is_better).verdict(Value("", fresh, 0.05, larger_is_better)) == verdict


def test_the_seed_determines_the_draw_and_fewer_cells_are_the_first_of_more():
    cells = [Cell(str(number)) for number in range(50)]
    twelve = drawn(cells, "a", 12)
    assert drawn(cells[::-1], "a", 12) == twelve
    assert drawn(cells, "a", 3) == twelve[:3]
    assert drawn(cells, "b", 12) != twelve


def test_all_tables_of_the_readme_have_cells_and_timings_have_none():
    names = [cell.name for cell in spot_check.recorded_cells()]
    assert {name.split()[0] for name in names} == {"table1", "table2", "wider", "self-training", "accuracy"}
    assert len(set(names)) == len(names)


def test_a_cell_is_made_anew_in_another_folder_and_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(spot_check, "RECORDS", tmp_path / "records")
    file = RecordFile(tmp_path / "records" / "table2.jsonl")
    cell = Cell("table2 disease/gcn", [(Job(SHORT, split), file) for split in range(2)])
    run_all(cell.runs)
    lines = []
    assert check([cell], tmp_path / "new", lines.append)
    assert lines[1].startswith("| table2 disease/gcn |")
    assert "| as recorded |" in lines[1]
    fresh = tmp_path / "new" / "table2.jsonl"
    assert len(RecordFile(fresh).records()) == 2
    better = file.path.read_text().replace('"accuracy": 0.', '"accuracy": 1.')
    file.path.write_text(better)
    assert not check([cell], tmp_path / "new", lines.append)
    assert lines[-1].endswith("1 of 1 cells missed.")
    fresh.write_text(fresh.read_text().replace('"commit": ', '"commit": "other", "": '))
    with pytest.raises(SystemExit, match="some of other"):
        check([cell], tmp_path / "new", lines.append)
