import json

import pytest

from command_runs import run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "table2", "cora"], "expected one of citeseer"),
        (["reproduce", "table3", "gcn"], "table3: expected a cell of that table"),
        (["reproduce", "search", "--quick"], "search: expected no quick"),
        (["reproduce", "table2", "--splits", "0"], "Invalid value for '--splits'"),
        (["reproduce", "further", "disease", "--quick", "--out", "{file}"], "expected a folder that can be written"),
        (["reproduce", "table2", "--configs", "{file}", "--out", "{file}.out"], "expected settings of citeseer/gcn"),
    ],
)
def test_wrong_tables_end_in_one_line_and_code_two(tmp_path, arguments, message):
    file = tmp_path / "file"
    file.write_text("")
    result = run(*(a.format(file=file) for a in arguments))
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_reproduce_runs_once_then_prints_from_its_records(tmp_path):
    arguments = ["reproduce", "further", "disease", "gcn", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    first = run(*arguments)
    assert first.exit_code == 0, first.output
    assert "1 of 1: disease gcn E16, split 0, run 0: test accuracy 0." in first.stderr
    assert "E16 (GCN)" in first.stdout
    again = run(*arguments, "--json")
    assert again.stderr == ""
    assert json.loads(again.stdout)["rows"][0][1] in first.stdout
    (record,) = (tmp_path / "quick" / "further.jsonl").read_text().splitlines()
    assert json.loads(record)["seed"] == 0


def test_reproduce_says_what_it_would_do(tmp_path):
    printed = json.loads(run("reproduce", "search", "cora_ml/S16", "--dry-run", "--out", str(tmp_path / "out")).stdout)
    assert len(printed) == 20
    assert printed[0]["cell"] == "cora_ml/S16"
    assert printed[0]["space"] == "S16(1.0)"
    assert not (tmp_path / "out").exists()
