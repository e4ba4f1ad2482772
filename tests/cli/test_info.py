import json

import pytest

from command_runs import run


def test_info_on_a_built_in_graph(tmp_path):
    result = run("info", "karate", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "34 nodes, 78 edges" in result.stdout
    assert "try H8xS8 first" in result.stdout
    record = json.loads((tmp_path / "info.json").read_text())
    assert len(record["curvature"]["per_node"]) == 34
    assert record["graph"] == "karate"


def test_info_for_machines_on_a_users_file(tmp_path):
    (tmp_path / "g.csv").write_text("a,b\nb,c\nc,a\nc,d\n")
    result = run("info", str(tmp_path / "g.csv"), "--json")
    printed = json.loads(result.stdout)
    assert (printed["nodes"], printed["edges"], printed["distances"]["diameter"]) == (4, 4, 2)
    assert json.loads(run("info", str(tmp_path / "g.csv"), "--json").stdout) == printed


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["info", "karate", "--data", "{file}"], "34 nodes", 0),  # not needed, so not looked at
        (["info", "texas", "--data", "{file}"], "expected a folder with datasets", 1),
    ],
)
def test_wrong_graphs_end_in_one_line(tmp_path, arguments, message, code):
    file = tmp_path / "file"
    file.write_text("")
    result = run(*(a.format(file=file) for a in arguments))
    assert result.exit_code == code
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert file.read_text() == ""
