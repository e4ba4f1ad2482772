import numpy as np
import pytest

from command_runs import run


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
