import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from kappagcn import __version__
from kappagcn.cli import app


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_version_and_help():
    assert run("--version").stdout.strip() == f"kappagcn {__version__}"
    assert "demo" in run("--help").stdout
    assert "Example: kappagcn demo --out demo" in run("demo", "--help").stdout


def test_demo_prints_a_table_and_writes_a_picture(tmp_path):
    result = run("demo", "--out", str(tmp_path), "--steps", "3")
    assert result.exit_code == 0, result.output
    assert "distortion" in result.stdout
    assert (tmp_path / "tree.png").read_bytes()[:4] == b"\x89PNG"


def test_demo_for_machines(tmp_path):
    result = run("demo", "--out", str(tmp_path), "--steps", "3", "--json")
    found = json.loads(result.stdout)
    assert [s["space"] for s in found["spaces"]] == ["sphere", "plane", "learned curvature"]
    again = json.loads(run("demo", "--out", str(tmp_path), "--steps", "3", "--json").stdout)
    assert found == again


def test_curvature_crosses_zero_on_a_tree(tmp_path):
    """Started on a sphere, the demo's tree ends hyperbolic, with less distortion than the plane's."""
    found = json.loads(run("demo", "--out", str(tmp_path), "--steps", "300", "--json").stdout)
    sphere, plane, learned = found["spaces"]
    assert learned["start"] > 0 > learned["curvature"]
    assert learned["distortion"] < 0.5 * plane["distortion"] < plane["distortion"] < sphere["distortion"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--out", "{file}"], "expected a folder that can be written"),
        (["demo", "--out", "{file}/inner"], "expected a folder that can be written"),
        (["demo", "--steps", "0"], "Invalid value for '--steps'"),
        (["demo", "--steps", "many"], "Invalid value for '--steps'"),
        (["demo", "--seed", "x"], "Invalid value for '--seed'"),
        (["reproduce", "table9"], "Invalid value for"),
        (["reproduce", "table2", "cora"], "expected one of citeseer"),
        (["reproduce", "table3", "gcn"], "table3: expected a cell of that table"),
        (["reproduce", "search", "--quick"], "search: expected its own budget"),
        (["reproduce", "table2", "--splits", "0"], "Invalid value for '--splits'"),
        (["reproduce", "further", "disease", "--quick", "--out", "{file}"], "expected a folder that can be written"),
        (["reproduce", "table2", "--configs", "{file}", "--out", "{file}.out"], "expected a TOML file"),
        (["dmeo"], "No such command"),
        (["demo", "--ot", "x"], "No such option"),
    ],
)
def test_wrong_use_ends_in_one_message_and_code_two(tmp_path, arguments, message):
    file = tmp_path / "file"
    file.write_text("")
    result = run(*(a.format(file=file) for a in arguments))
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())
    assert "Traceback" not in result.output


def test_reproduce_runs_once_then_prints_from_its_records(tmp_path):
    arguments = ["reproduce", "further", "disease", "gcn", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    first = run(*arguments)
    assert first.exit_code == 0, first.output
    assert "1 of 1: disease gcn E16, split 0, run 0: test accuracy 0." in first.stderr
    assert "E16 (GCN)" in first.stdout
    again = run(*arguments, "--json")
    assert again.stderr == ""
    assert json.loads(again.stdout)["rows"][0][1] in first.stdout
    (record,) = (tmp_path / "quick" / "further" / "disease" / "gcn.jsonl").read_text().splitlines()
    assert json.loads(record)["seed"] == 0


def test_reproduce_says_what_it_would_do(tmp_path):
    found = json.loads(run("reproduce", "search", "cora_ml/S16", "--dry-run", "--out", str(tmp_path / "out")).stdout)
    assert len(found) == 20
    assert found[0]["cell"] == "cora_ml/S16"
    assert found[0]["options"]["space"] == "S16(1.0)"
    assert not (tmp_path / "out").exists()


def test_module_runs_like_the_command():
    result = subprocess.run([sys.executable, "-m", "kappagcn", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == f"kappagcn {__version__}"


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
    found = json.loads(result.stdout)
    assert (found["nodes"], found["edges"], found["distances"]["diameter"]) == (4, 4, 2)
    assert json.loads(run("info", str(tmp_path / "g.csv"), "--json").stdout) == found


def test_data_list_and_path(tmp_path, monkeypatch):
    rows = {row["name"]: row for row in json.loads(run("data", "list", "--json").stdout)}
    assert rows["tree"]["where"] == "generated"
    assert "7 classes" in rows["cora_ml"]["what"]
    assert "cora_ml" in run("data", "list").stdout
    assert run("data", "path").stdout.strip().endswith("kappagcn")
    (tmp_path / "cora_ml.npz").write_bytes(b"")
    monkeypatch.setenv("KAPPAGCN_DATA", str(tmp_path))
    assert run("data", "path", "cora_ml").stdout.strip() == str(tmp_path / "cora_ml.npz")
    result = run("info", "cora_ml")
    assert result.exit_code == 2
    assert "expected sha256" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["info", "treee"], "Did you mean tree", 2),
        (["info", "none.csv"], "expected a file, found nothing at 'none.csv'", 2),
        (["info", "karate", "--out", "{file}"], "expected a folder that can be written", 2),
        (["info", "karate", "--data", "{file}"], "34 nodes", 0),  # not needed, so not looked at
        (["info", "texas", "--data", "{file}"], "expected a folder with datasets", 1),
        (["data", "path", "kora"], "found 'kora'", 2),
        (["data", "fetch", "kora"], "found 'kora'", 2),
        (["info", "{file}"], "no ending", 2),
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


@pytest.mark.parametrize("command", [("info",), ("reproduce",), ("data", "list"), ("data", "fetch"), ("data", "path")])
def test_help_has_an_example(command):
    assert f"Example: kappagcn {' '.join(command)}" in run(*command, "--help").stdout


def test_attributes_of_markup_are_named_on_the_command_line(tmp_path):
    (tmp_path / "g.gml").write_text("graph [ node [ id 0 v 1 ] node [ id 1 v 2 ] edge [ source 0 target 1 ] ]")
    found = json.loads(run("info", str(tmp_path / "g.gml"), "--features", "v", "--json").stdout)
    assert found["features"] == 1


def test_generated_graphs_have_no_file():
    assert run("data", "fetch", "karate").stdout == "karate\tgenerated\n"
    result = run("data", "path", "karate")
    assert result.exit_code == 2
    assert "which is generated" in result.stderr
