"""The scripts in examples/ run, and come to the conclusions they print."""

import importlib
import runpy
from itertools import pairwise
from pathlib import Path

import pytest
import torch.multiprocessing

from workers import spawn_into

EXAMPLES = Path(__file__).parent.parent / "examples"


def example(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]


def test_each_is_short():
    scripts = sorted(EXAMPLES.glob("*.py"))
    assert [s.stem for s in scripts] == [
        "graphgym",
        "nearest_neighbours",
        "predict_new_graph",
        "pyg_distributed",
        "pyg_drop_in",
        "pyg_link_prediction",
        "through_zero",
        "which_geometry",
    ]
    for script in scripts:
        text = script.read_text()
        assert len(text.splitlines()) <= 60
        assert f"python examples/{script.name}" in text.split('"""')[1]
        assert text.endswith('if __name__ == "__main__":\n    main()\n') or "main(*sys.argv[1:" in text


def test_gcnconv_is_replaced_and_nothing_else(capsys):
    assert "import KappaGCNConv as GCNConv" in (EXAMPLES / "pyg_drop_in.py").read_text()
    assert example("pyg_drop_in")(epochs=100) > 0.7
    assert "curvatures" in capsys.readouterr().out


def test_layers_are_registered_with_graphgym(capsys):
    assert example("graphgym")() == ["kappagcnconv", "kappasageconv", "kappagatconv"]
    assert capsys.readouterr().out.count("(4, 5)") == 3


def test_links_are_predicted_with_the_layer_in_pygs_script(capsys):
    assert example("pyg_link_prediction")(epochs=60, nodes=300) > 0.8
    assert "held-out link" in capsys.readouterr().out


def test_processes_train_together_with_layer_and_loader_in_pygs_script(monkeypatch, tmp_path):
    """The processes that it starts import it again."""
    monkeypatch.setattr(torch.multiprocessing, "spawn", spawn_into(tmp_path / "printed"))
    monkeypatch.syspath_prepend(EXAMPLES)
    importlib.import_module("pyg_distributed").main(epochs=1)
    assert "on 2 processes" in (tmp_path / "printed").read_text()


@pytest.mark.parametrize(
    ("graph", "letter", "word"), [("small_tree", "H", "hyperbolic"), ("dodecahedron", "S", "spherical")]
)
def test_a_tree_is_hyperbolic_and_a_dodecahedron_is_not(graph, letter, word, capsys):
    assert example("which_geometry")(graph, dim=2, epochs=400) == letter
    assert f"{graph} fits {word} space best" in capsys.readouterr().out


@pytest.mark.parametrize(("who", "friends"), [("ann", {"bea", "cem", "dia"}), ("pia", {"max", "nia", "oto"})])
def test_the_nearest_are_the_friends(who, friends, capsys):
    assert set(example("nearest_neighbours")(who=who, epochs=150)[:3]) == friends
    assert f"Nearest to {who}: " in capsys.readouterr().out


def test_a_file_of_ones_own_is_read(tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\nb,c\nc,d\nd,e\n")
    assert example("nearest_neighbours")(tmp_path / "mine.csv", "a", epochs=150) == ["b", "c", "d", "e"]


def test_the_curvature_passes_zero(capsys):
    path = example("through_zero")(epochs=150)
    assert path[0] > 0.1
    assert path[-1] < -0.1
    assert max(abs(b - a) for a, b in pairwise(path)) < 0.05, "without a jump"
    assert "passed zero" in capsys.readouterr().out
    example("through_zero")(epochs=5)
    assert "stayed positive" in capsys.readouterr().out


def test_a_new_graph_is_predicted_better_than_by_guessing(capsys):
    right, guess = example("predict_new_graph")(epochs=100)
    assert right > guess + 0.1
    assert "On the new graph" in capsys.readouterr().out
