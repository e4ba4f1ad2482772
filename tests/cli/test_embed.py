import numpy as np
import pytest

from command_runs import message_of, run


def test_weights_are_lengths_by_default(tmp_path):
    (tmp_path / "g.csv").write_text("source,target,weight\na,b,5\nb,c,5\nc,d,5\n")
    results = {}
    for flag in ("--weights", "--no-weights"):
        folder = tmp_path / flag
        run("embed", str(tmp_path / "g.csv"), flag, "--space", "E2", "--epochs", "300", "--out", str(folder))
        points = np.load(folder / "embedding.npz")["points"]
        results[flag] = float(2 * np.linalg.norm(points[0] - points[1]))
    assert results == {"--weights": pytest.approx(5, rel=0.05), "--no-weights": pytest.approx(1, rel=0.05)}


def test_a_graph_without_edges_is_refused(tmp_path):
    (tmp_path / "loops.csv").write_text("source,target\na,a\nb,b\n")
    result = run("embed", tmp_path / "loops.csv", "--space", "H2", "--epochs", "2", "--out", tmp_path / "r")
    assert result.exit_code == 2
    assert "found 2 nodes and no edge" in message_of(result)
    assert not (tmp_path / "r").exists()


def test_points_for_other_tools(tmp_path):
    exported, table = tmp_path / "points.vec", tmp_path / "points.csv"
    files = ("--out", tmp_path / "run", "--export", exported, "--set", f"csv={table}")
    options = ("--space", "E2", "--epochs", "5", *files)
    result = run("embed", "path", *options)
    assert result.exit_code == 0, result.output
    points = np.load(tmp_path / "run" / "embedding.npz")["points"]
    assert exported.read_text().splitlines()[0] == "5 2"
    assert np.array_equal(np.loadtxt(table, delimiter=",", skiprows=1)[:, 1:], points)
    words = message_of(run("embed", "path", "--out", tmp_path / "other", "--export", tmp_path / "points.xlsx"))
    assert "expected a file ending in .csv" in words
    words = message_of(run("embed", "path", "--out", tmp_path / "other", "--set", f"csv={tmp_path}/none/points.csv"))
    assert "--csv: expected a file in a folder that exists, found no folder" in words
    assert not (tmp_path / "other").exists()
