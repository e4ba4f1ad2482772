import numpy as np
import pytest

from kappagcn.errors import CheckpointError
from kappagcn.run_folder import SavedRun
from kappagcn.view.report import write_report
from report_runs import embedded, save_run, tree_edges, tree_run, tree_vectors


def flip(folder):
    """A byte amid the compressed points."""
    path = folder / "embedding.npz"
    bits = bytearray(path.read_bytes())
    bits[300] ^= 255
    path.write_bytes(bytes(bits))


def spoil(name, content):
    return lambda folder: (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    "spoiled",
    [
        spoil("embedding.npz", b"PK\x03\x04 nonsense"),
        spoil("embedding.npz", b""),
        spoil("summary.json", b"{"),
        spoil("metrics.jsonl", b"{}\n{"),
        spoil("metrics.jsonl", b"1\n2\n"),
        lambda folder: (folder / "embedding.npz").unlink(),
        flip,
    ],
)
def test_spoiled_files_are_refused_in_one_line(tmp_path, spoiled):
    run = tree_run(tmp_path / "tree")
    spoiled(run.path)
    with pytest.raises(CheckpointError) as refused:
        write_report(SavedRun(run.path), tmp_path / "report.html")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tangent": np.full((5, 2), np.nan)}, "finite points"),
        ({"curvatures": np.array([np.inf])}, "finite points"),
        ({"labels": np.full(5, 7), "class_names": np.array(["a"])}, "class name"),
        ({"parts": np.full(5, 9)}, "parts"),
        ({"ratio_edges": np.arange(3.0), "ratio_counts": np.arange(5)}, "border"),
        ({"edges": np.array([[0.0, 1.0]])}, "whole numbers"),
    ],
)
def test_impossible_contents_are_refused(tmp_path, change, words):
    arrays = embedded(tree_vectors(5), [2], [-1.0], tree_edges(5))
    run = save_run(tmp_path / "run", type(arrays)(**(vars(arrays) | change)))
    with pytest.raises(CheckpointError, match=words):
        write_report(run, tmp_path / "report.html")
