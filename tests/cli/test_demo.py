import json

from typer.main import get_command

import demo as kept_demo
import record
from command_runs import run
from kappagcn.cli import app


def test_demo_prints_two_tables_and_writes_a_picture_and_pages(tmp_path):
    result = run("demo", "--out", str(tmp_path), "--epochs", "4", "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "The paper's tree, 1365 nodes" in result.stdout
    assert "An epidemic" in result.stdout
    assert "Both classify equally well" in result.stdout or "more often" in result.stdout
    assert (tmp_path / "tree.png").read_bytes()[:4] == b"\x89PNG"
    assert all('id="stages"' in (tmp_path / f"{name}-report.html").read_text() for name in ("tree", "disease"))


def test_the_quick_demo_takes_a_smaller_tree(tmp_path):
    result = run("demo", "--quick", "--out", str(tmp_path), "--epochs", "3", "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "A tree of 85 nodes" in result.stdout
    assert "over 2 splits" in result.stdout
    names = ["disease-report.html", "tree-dark.png", "tree-report.html", "tree.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_demo_for_machines(tmp_path):
    arguments = ["demo", "--quick", "--out", str(tmp_path), "--epochs", "3", "--threads", "1", "--json"]
    printed = json.loads(run(*arguments).stdout)
    assert [r["space"] for r in printed["disease"]] == ["E16", "H16"]
    assert json.loads(run(*arguments).stdout) == printed


def test_what_the_demo_says_is_so():
    """By the record of a run with its own settings."""
    (epochs,) = (p for p in get_command(app).commands["demo"].params if p.name == "epochs")
    assert epochs.default == kept_demo.EPOCHS == record.load("demo")["epochs"]
    result = kept_demo.parts()
    distortion = {r["space"]: r["distortion"] for r in result["tree"]}
    assert distortion["H10"] < 0.5 * distortion["E10"]
    assert distortion["E10"] < distortion["S10"]
    assert all(r["accuracy"] > 0.85 for r in result["disease"])
    sphere, plane, learned = result["small"]
    assert learned["curvature"] < 0
    assert learned["distortion"] < 0.2 * plane["distortion"]
    assert plane["distortion"] < sphere["distortion"]
