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


def test_module_runs_like_the_command():
    result = subprocess.run([sys.executable, "-m", "kappagcn", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == f"kappagcn {__version__}"
