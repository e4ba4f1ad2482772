"""Large tables become the same graph as when they are read whole."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import read_graph
from kappagcn.graphs.io import convert, tables, text
from kappagcn.graphs.io.convert import convert_table
from kappagcn.graphs.io.edges import EdgeColumns
from kappagcn.graphs.io.folder import read_folder

pytest.importorskip("duckdb")

TEXTS = {
    "names.csv": "source,target\nann,bob\nbob,cem\ncem,ann\nann,ann\nbob,ann\n",
    "columns.csv": '"weight","source","target"\n2.5,5,7\n1,7,9\n3,7,5\n',
    "marks.csv": '\ufeffsource,target,weight\n1.0,2,1\n2,3,1\n"1",3,1\n',
    "zeros.csv": "source,target\n007,1\n1,2\n7,007\n",
    "forms.csv": "source,target\n1.0,2.0\n2,3\n10,9\n",
    "comments.tsv": "# first\n0\t1\n1\t2\n# second\n5\t2\n",
    "blanks.csv": 'source,target\n ann , bob\nbob,"ce,m"\n',
    "weights.txt": "0 1 2.5\n1 2 3.5\n2 1 4.5\n",
    "far.csv": "source,target\n-3,4\n4,100000000\n",
    "high.csv": "source,target\n5,6\n6,7\n",
    "umlauts.csv": "source,target\nä,ö\nö,ü\n",
    "lines.csv": "src,dst\r\n3,4\r\n4,5\r\n",
    "many blanks.txt": "0  1\n1 2\n",
    "quoted blanks.csv": 'source,target\na," b"\nb,a\n',
}


def same_graph(path, tmp_path, **columns):
    whole = read_graph(path, **columns)
    streamed = read_folder(convert_table(path, tmp_path / "folder", columns=EdgeColumns(**columns)))
    assert streamed.num_nodes == whole.num_nodes
    assert streamed.get("node_names") == whole.get("node_names")
    assert np.array_equal(streamed.edge_index, whole.edge_index)
    assert (streamed.get("edge_weight") is None) == (whole.get("edge_weight") is None)
    if whole.get("edge_weight") is not None:
        assert np.allclose(streamed.edge_weight, whole.edge_weight)
    assert whole.report.startswith(streamed.report.split(";")[0])


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_text(name, ending, tmp_path, monkeypatch):
    monkeypatch.setattr(convert, "BATCH", 3)  # equal entries lie in different batches
    content = TEXTS[name].encode()
    path = tmp_path / (name + ending)
    path.write_bytes(gzip.compress(content) if ending else content)
    same_graph(path, tmp_path)


def test_columns_by_name_and_parquet(tmp_path):
    table = pa.table({"w": [1.0, 2.0, 3.0], "to": ["x", "y", "x"], "by": ["y", "z", "z"], "n": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    same_graph(tmp_path / "a.parquet", tmp_path, source="by", target="to", weight="w")
    parquet.write_table(pa.table({"source": [1.0, 2.0], "target": [2.0, 5.0]}), tmp_path / "b.parquet")
    same_graph(tmp_path / "b.parquet", tmp_path / "second")


def test_random_edges_in_many_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(convert, "BATCH", 1000)
    monkeypatch.setattr(tables, "BATCH", 1000)
    monkeypatch.setattr(text, "BLOCK", 1000)
    rng = np.random.default_rng(0)
    pairs = rng.integers(300, size=(5000, 2))
    lines = "".join(f"{a},{b},{a % 7 + 1}\n" for a, b in pairs)
    (tmp_path / "edges.csv").write_text(f"source,target,weight\n{lines}")
    same_graph(tmp_path / "edges.csv", tmp_path)
    table = pa.table({"source": pairs[:, 0], "target": pairs[:, 1], "weight": pairs[:, 0] % 7 + 1.0})
    parquet.write_table(table, tmp_path / "edges.parquet")
    same_graph(tmp_path / "edges.parquet", tmp_path / "second")
    (tmp_path / "late.csv").write_text(f"source,target,weight\n{lines}007,1,1\n")  # after many integers
    same_graph(tmp_path / "late.csv", tmp_path / "third")


def test_arrays_with_features_and_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(convert, "BATCH", 4)
    rng = np.random.default_rng(0)
    np.save(tmp_path / "e.npy", rng.integers(8, size=(20, 2)))
    np.save(tmp_path / "x.npy", x := rng.normal(size=(10, 3)))
    np.save(tmp_path / "y.npy", y := rng.integers(-1, 2, size=10))
    files = {"features": tmp_path / "x.npy", "labels": tmp_path / "y.npy"}
    data = read_folder(convert_table(tmp_path / "e.npy", tmp_path / "folder", **files, half=True))
    assert data.num_nodes == 10, "nodes without an edge have rows of features"
    assert np.array_equal(data.x.numpy(), x.astype(np.float16))
    assert np.array_equal(data.y, y)
    np.save(tmp_path / "y.npy", y[:9])
    with pytest.raises(GraphFileError, match="expected 10 labels, as there are features, found 9"):
        convert_table(tmp_path / "e.npy", tmp_path / "other", **files)
    np.save(tmp_path / "x.npy", x[:5])
    with pytest.raises(GraphFileError, match="expected nodes from 0 to 4, found 0 to 7"):
        convert_table(tmp_path / "e.npy", tmp_path / "other", features=tmp_path / "x.npy")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("source,target,weight\na,b,1\nb,c,-2\n", "expected weights that are positive and finite, found -2.0"),
        ("source,target,weight\na,b,1\nb,c,no\n", "no"),
        ("source,target\na,b\nb,\n", "line 3: expected two nodes, found an empty name"),
        ("source,target\na,b\nb,c,d\n", "line 3: expected 2 columns, as in the first line, found 3"),
    ],
)
def test_damage_is_named(text, words, tmp_path):
    (tmp_path / "edges.txt").write_text(text)
    with pytest.raises((GraphError, GraphFileError), match=words):
        convert_table(tmp_path / "edges.txt", tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["edges.txt"], "nothing is left"
