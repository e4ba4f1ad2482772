import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import demo as kept_demo
import record
from kappagcn import __version__
from kappagcn.cli import app


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_version_and_help():
    assert run("--version").stdout.strip() == f"kappagcn {__version__}"
    assert "demo" in run("--help").stdout


def test_demo_prints_two_tables_and_writes_a_picture_and_pages(tmp_path):
    result = run("demo", "--out", str(tmp_path), "--epochs", "4", "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "The paper's tree, 1365 nodes" in result.stdout
    assert "An epidemic" in result.stdout
    assert "told as well by both" in result.stdout or "more often" in result.stdout
    assert (tmp_path / "tree.png").read_bytes()[:4] == b"\x89PNG"
    assert all("<canvas" in (tmp_path / f"{name}-report.html").read_text() for name in ("tree", "disease"))


def test_the_quick_demo_needs_no_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr("kappagcn.demo.importlib.util.find_spec", lambda name: None)
    result = run("demo", "--quick", "--out", str(tmp_path), "--epochs", "3", "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "A tree of 85 nodes" in result.stdout
    assert "over 2 splits" in result.stdout
    assert "pip install 'kappagcn[figures]'" in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disease-report.html", "tree-report.html"]


def test_demo_for_machines(tmp_path):
    arguments = ["demo", "--quick", "--out", str(tmp_path), "--epochs", "3", "--threads", "1", "--json"]
    found = json.loads(run(*arguments).stdout)
    assert [r["space"] for r in found["disease"]] == ["E16", "H16"]
    assert json.loads(run(*arguments).stdout) == found


def test_what_the_demo_says_is_so():
    """By the record of a run with its own settings."""
    (epochs,) = (p for p in get_command(app).commands["demo"].params if p.name == "epochs")
    assert epochs.default == kept_demo.EPOCHS == record.load("demo")["epochs"]
    found = kept_demo.parts()
    distortion = {r["space"]: r["distortion"] for r in found["tree"]}
    assert distortion["H10"] < 0.5 * distortion["E10"]
    assert distortion["E10"] < distortion["S10"]
    assert all(r["accuracy"] > 0.85 for r in found["disease"])
    sphere, plane, learned = found["small"]
    assert learned["curvature"] < 0
    assert learned["distortion"] < 0.2 * plane["distortion"]
    assert plane["distortion"] < sphere["distortion"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "table2", "cora"], "expected one of citeseer"),
        (["reproduce", "table3", "gcn"], "table3: expected a cell of that table"),
        (["reproduce", "search", "--quick"], "search: expected its own budget"),
        (["reproduce", "table2", "--splits", "0"], "Invalid value for '--splits'"),
        (["reproduce", "further", "disease", "--quick", "--out", "{file}"], "expected a folder that can be written"),
        (["reproduce", "table2", "--configs", "{file}", "--out", "{file}.out"], "expected a TOML file"),
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
    (record,) = (tmp_path / "quick" / "further" / "disease" / "gcn.jsonl").read_text().splitlines()
    assert json.loads(record)["seed"] == 0


def test_reproduce_says_what_it_would_do(tmp_path):
    found = json.loads(run("reproduce", "search", "cora_ml/S16", "--dry-run", "--out", str(tmp_path / "out")).stdout)
    assert len(found) == 20
    assert found[0]["cell"] == "cora_ml/S16"
    assert found[0]["space"] == "S16(1.0)"
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


def test_a_run_from_the_first_line_to_the_page(tmp_path):
    """Embed, classify, predict, plot and report, as the help of each command shows it."""
    folder = tmp_path / "run"
    embedded = json.loads(
        run("embed", "karate", "--space", "H2xS2", "--epochs", "20", "--out", str(folder), "--json").stdout
    )
    assert embedded["distortion"] == json.loads((folder / "summary.json").read_text())["distortion"]
    assert {path.name for path in folder.iterdir()} >= {
        "config.json", "metrics.jsonl", "model.safetensors", "embedding.npz", "summary.json",
    }  # fmt: skip
    pictures = run("plot", str(folder), "--format", "both", "--theme", "both").stdout.split()
    assert len(pictures) == 16
    assert all(Path(path).exists() for path in pictures)
    page = run("report", str(folder)).stdout.strip()
    assert "Mr. Hi" in Path(page).read_text()
    again = run("embed", "karate", "--space", "H2xS2", "--epochs", "20", "--out", str(folder), "--json", "--resume")
    assert json.loads(again.stdout)["distortion"] == embedded["distortion"]


def test_classify_then_predict_for_the_same_and_for_new_nodes(tmp_path):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 60)
    edges = [(i, j) for i in range(60) for j in range(i) if rng.random() < (0.2 if kinds[i] == kinds[j] else 0.02)]
    _graph(tmp_path, "old", edges, kinds, rng)
    _graph(tmp_path, "new", edges[: len(edges) // 2], kinds, rng)
    folder = tmp_path / "run"
    options = ["--features", str(tmp_path / "old-features.csv"), "--labels", str(tmp_path / "old-labels.csv")]
    told = run(
        "classify", str(tmp_path / "old.csv"), *options, "--space", "H4", "--splits", "2", "--runs", "2",
        "--epochs", "100", "--out", str(folder), "--json",
    )  # fmt: skip
    summary = json.loads(told.stdout)
    assert (summary["splits"], summary["runs"], len(summary["records"])) == (2, 4, 4)
    assert summary["accuracy"] > 0.8
    assert summary["interval"][0] <= summary["accuracy"] <= summary["interval"][1]
    kept = max(summary["records"], key=lambda r: (r["stopping_accuracy"], -r["stopping_loss"]))
    assert summary["kept"] == {"split": kept["split"], "run": kept["run"]}, "stopping nodes choose, never test nodes"
    rows = list(csv.DictReader(run("predict", str(folder)).stdout.splitlines()))
    assert len(rows) == 60
    assert {row["given"] for row in rows} == {"even", "odd"}
    assert float(rows[0]["p(even)"]) + float(rows[0]["p(odd)"]) == pytest.approx(1, abs=1e-5)
    new = ["--features", str(tmp_path / "new-features.csv"), "--labels", str(tmp_path / "new-labels.csv")]
    result = run("predict", str(folder), str(tmp_path / "new.csv"), *new, "--json")
    found = {row["node"]: row["label"] for row in json.loads(result.stdout)["nodes"]}
    right = np.mean([found[f"new{i}"] == ("odd" if kinds[i] else "even") for i in range(60) if f"new{i}" in found])
    assert right > 0.65, "20 seeds show 0.77 at least"
    assert f"{right:.3f}" in result.stderr
    again = run("predict", str(folder), str(tmp_path / "old.csv"), *options)
    assert again.stdout == run("predict", str(folder)).stdout, "the saved network gives the run's own numbers"


def _graph(folder, name, edges, kinds, rng):
    (folder / f"{name}.csv").write_text("".join(f"{name}{i},{name}{j}\n" for i, j in edges))
    used = sorted({node for edge in edges for node in edge})
    noisy = [(i, kinds[i] + 0.5 * rng.standard_normal(), rng.standard_normal()) for i in used]
    (folder / f"{name}-features.csv").write_text("".join(f"{name}{i},{a},{b}\n" for i, a, b in noisy))
    (folder / f"{name}-labels.csv").write_text("".join(f"{name}{i},{('even', 'odd')[kinds[i]]}\n" for i in used))


def test_an_interrupted_classification_goes_on_to_the_same_numbers(tmp_path):
    arguments = ["classify", "disease", "--space", "H4", "--splits", "2", "--epochs", "15", "--json", "--threads", "1"]
    whole = json.loads(run(*arguments, "--out", str(tmp_path / "whole")).stdout)
    assert run(*arguments, "--out", str(tmp_path / "cut")).exit_code == 0
    for name in ("summary.json", "embedding.npz"):
        (tmp_path / "cut" / name).unlink()
    shutil.rmtree(tmp_path / "cut" / "runs" / "split1-run0")
    resumed = json.loads(run(*arguments, "--out", str(tmp_path / "cut"), "--resume").stdout)
    for told in (whole, resumed):
        told.pop("run"), told.pop("seconds")
        for each in told["records"]:
            each.pop("seconds"), each.pop("epoch_milliseconds")
    assert resumed == whole


def test_weights_are_lengths_unless_told_otherwise(tmp_path):
    (tmp_path / "g.csv").write_text("source,target,weight\na,b,5\nb,c,5\nc,d,5\n")
    found = {}
    for flag in ("--weights", "--no-weights"):
        folder = tmp_path / flag
        run("embed", str(tmp_path / "g.csv"), flag, "--space", "E2", "--epochs", "300", "--out", str(folder))
        points = np.load(folder / "embedding.npz")["points"]
        found[flag] = float(2 * np.linalg.norm(points[0] - points[1]))
    assert found == {"--weights": pytest.approx(5, rel=0.05), "--no-weights": pytest.approx(1, rel=0.05)}


@pytest.mark.filterwarnings("default::UserWarning")
def test_a_graph_without_edges_is_embedded_without_a_word_too_many(tmp_path):
    (tmp_path / "loops.csv").write_text("source,target\na,a\nb,b\n")
    result = run("embed", str(tmp_path / "loops.csv"), "--space", "H2", "--epochs", "2", "--out", str(tmp_path / "r"))
    assert result.exit_code == 0, result.output
    assert "no edges" in result.stdout


def test_settings_come_from_a_file_and_flags_win(tmp_path):
    shown = run("classify", "disease", "--space", "H4", "--epochs", "7", "--dry-run").stdout
    assert "dropout = 0.0" in shown, "auto is resolved"
    (tmp_path / "run.toml").write_text(shown)
    again = run("classify", "--config", str(tmp_path / "run.toml"), "--dry-run")
    assert again.stdout == shown
    other = json.loads(
        run("classify", "--config", str(tmp_path / "run.toml"), "--space", "S3", "--dry-run", "--json").stdout
    )
    assert (other["space"], other["epochs"], other["graph"]) == ("S3", 7, "disease")
    assert not Path("runs").exists()


def test_what_is_for_machines_is_alone_on_standard_output(tmp_path):
    result = run("embed", "karate", "--space", "E2", "--epochs", "3", "--out", str(tmp_path / "r"), "--json")
    assert json.loads(result.stdout)["graph"] == "karate"
    assert "34 nodes" in result.stderr


def test_attributes_of_markup_are_named_on_the_command_line(tmp_path):
    (tmp_path / "g.gml").write_text("graph [ node [ id 0 v 1 ] node [ id 1 v 2 ] edge [ source 0 target 1 ] ]")
    found = json.loads(run("info", str(tmp_path / "g.gml"), "--features", "v", "--json").stdout)
    assert found["features"] == 1


def test_generated_graphs_have_no_file():
    assert run("data", "fetch", "karate").stdout == "karate\tgenerated\n"
    result = run("data", "path", "karate")
    assert result.exit_code == 2
    assert "which is generated" in result.stderr
