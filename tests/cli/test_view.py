import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from command_runs import message_of, run


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
    pictures = run("plot", str(folder), "--format", "both", "--theme", "both").stdout.splitlines()
    assert len(pictures) == 16
    assert all(Path(path).exists() for path in pictures)
    page = run("report", str(folder)).stdout.strip()
    result = json.loads(run("report", str(folder), "--json").stdout)
    assert result == {"run": str(folder), "runs": [str(folder)], "report": page}
    assert "Mr. Hi" in Path(page).read_text()
    again = run("embed", "karate", "--space", "H2xS2", "--epochs", "20", "--out", str(folder), "--json", "--resume")
    assert json.loads(again.stdout)["distortion"] == embedded["distortion"]


@pytest.mark.parametrize("name", ["config.json", "summary.json", "metrics.jsonl", "embedding.npz"])
@pytest.mark.parametrize("broken", [b"", b"{", b"[1, 2]\n", b"PK\x03\x04"])
@pytest.mark.parametrize("kind", ["embedding", "classes"])
def test_a_run_with_a_broken_file_is_refused_by_name(runs, tmp_path, name, broken, kind):
    shutil.copytree(runs / kind, tmp_path / "run")
    (tmp_path / "run" / name).write_bytes(broken)
    result = run("report", tmp_path / "run", "--out", tmp_path / "out")
    if name == "config.json" or (name == "metrics.jsonl" and broken == b""):
        return  # the report needs neither what was asked nor, where there are none, epochs
    assert f"{name}: expected" in message_of(result)
    assert not (tmp_path / "out" / "report.html").exists()


def test_points_that_do_not_fit_their_edges_are_refused(runs, tmp_path):
    shutil.copytree(runs / "embedding", tmp_path / "run")
    path = tmp_path / "run" / "embedding.npz"
    with np.load(path) as file:
        arrays = dict(file)
    arrays["edges"] = arrays["edges"] + 1000
    np.savez(path, **arrays)
    assert "edges that do not belong to the points" in message_of(run("plot", tmp_path / "run"))


def test_an_interrupted_run_is_named_as_such(runs, tmp_path):
    shutil.copytree(runs / "embedding", tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    assert "expected a finished run, found one that was interrupted" in message_of(run("report", tmp_path / "run"))
