"""Edges block by block from every format that is streamed."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from kappagcn.errors import GraphFileError
from kappagcn.graphs import disease, save_graph
from kappagcn.graphs.io import edge_stream
from kappagcn.graphs.io.edge_stream import open_edges

PAIRS = np.array([[0, 1], [2, 0], [3, 3], [1, 0], [2, 0]])


def collected(stream):
    blocks = list(stream.blocks())
    return np.stack([np.concatenate([block[side] for block in blocks]) for side in (0, 1)], 1)


def files(folder):
    text = "\n".join(f"{u},{v}" for u, v in PAIRS)
    (folder / "plain.csv").write_text(text)
    (folder / "heading.csv").write_text("source,target\n" + text)
    (folder / "snap.txt").write_text("# a comment\n# another\n" + text.replace(",", "\t"))
    (folder / "middle.txt").write_text(text.replace(",", " ") + "\n# at the end\n")
    (folder / "packed.csv.gz").write_bytes(gzip.compress(text.encode()))
    parquet.write_table(pa.table({"to": PAIRS[:, 1], "from": PAIRS[:, 0]}), folder / "table.parquet")
    np.save(folder / "rows.npy", PAIRS.astype(np.int32))
    np.save(folder / "planes.npy", np.ascontiguousarray(PAIRS.T))
    return sorted(folder.iterdir())


def test_all_formats_give_the_same_edges(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_stream, "BLOCK", 2)
    for path in files(tmp_path):
        stream = open_edges(path)
        assert stream is not None, path
        assert not stream.weighted
        assert np.array_equal(collected(stream), PAIRS), path
        assert np.array_equal(collected(stream), PAIRS), "a second time"
        assert stream.edges in (None, len(PAIRS))


def test_weights_are_read(tmp_path):
    (tmp_path / "w.csv").write_text("0,1,0.5\n1,2,2\n")
    parquet.write_table(pa.table({"source": [0, 1], "target": [1, 2], "weight": [0.5, 2]}), tmp_path / "w.parquet")
    for name in ("w.csv", "w.parquet"):
        stream = open_edges(tmp_path / name)
        assert stream.weighted
        assert [block[2].tolist() for block in stream.blocks()] == [[0.5, 2.0]]


def test_a_folder_of_arrays_has_each_edge_once(tmp_path):
    data = disease(30)
    save_graph(data, tmp_path / "folder")
    pairs = collected(open_edges(tmp_path / "folder"))
    assert len(pairs) == 29
    assert (pairs[:, 0] < pairs[:, 1]).all()


def test_other_formats_are_left_to_the_readers_of_whole_files(tmp_path):
    (tmp_path / "words.csv").write_text("ann,bob\n")
    np.save(tmp_path / "matrix.npy", np.ones((3, 3)))
    (tmp_path / "graph.graphml").write_text("")
    for name in ("words.csv", "matrix.npy", "graph.graphml"):
        assert open_edges(tmp_path / name) is None, name


@pytest.mark.parametrize(
    ("text", "message"),
    [("0,1\n1,x\n", "expected two integers"), ("# nothing\n", "found none"), ("0\n", "expected two nodes")],
)
def test_wrong_text_is_refused(tmp_path, text, message):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(GraphFileError, match=message):
        collected(open_edges(tmp_path / "bad.csv"))


def test_missing_files_and_empty_cells_are_refused(tmp_path):
    with pytest.raises(GraphFileError, match="found nothing"):
        open_edges(tmp_path / "none.csv")
    parquet.write_table(pa.table({"source": [0, None], "target": [1, 2]}), tmp_path / "gap.parquet")
    with pytest.raises(GraphFileError, match="expected nodes as integers"):
        collected(open_edges(tmp_path / "gap.parquet"))
