import dataclasses
import hashlib
import io
import pickle
import struct

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from kappagcn.errors import DownloadError, IntegrityError
from kappagcn.graphs.datasets.graph_dataset import dataset_arrays
from kappagcn.graphs.datasets.raw_formats import READERS
from kappagcn.graphs.datasets.sources import Source, find_entry
from tools import convert_pickles


def csr(arrays, prefix):
    return sp.csr_array(
        tuple(arrays[f"{prefix}_{part}"] for part in ("data", "indices", "indptr")), shape=arrays[f"{prefix}_shape"]
    ).toarray()


ADJACENCY = sp.csr_array(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 1.0]]))


FEATURES = sp.csr_array(np.array([[0, 0.5], [1, 0], [0, 0]]))


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parts(matrix, prefix):
    return {
        f"{prefix}data": matrix.data,
        f"{prefix}indices": matrix.indices,
        f"{prefix}indptr": matrix.indptr,
        f"{prefix}shape": matrix.shape,
    }


@pytest.mark.parametrize(("adj", "attr"), [("adj_matrix.", "attr_matrix."), ("adj_", "attr_")])
def test_sparse_graph_files(adj, attr):
    content = npz(
        **parts(ADJACENCY, adj),
        **parts(FEATURES, attr),
        labels=np.array([0, 1, 0]),
        node_names=np.array(["a\n", "b\n", "c\n"]),
        metadata=np.array(None, dtype=object),
        attr_names=np.array(None, dtype=object),
    )
    arrays = READERS["arrays"]({"g.npz": content})
    assert (csr(arrays, "adj") == ADJACENCY.toarray()).all()
    assert (csr(arrays, "attr") == FEATURES.toarray()).all()
    assert arrays["labels"].tolist() == [0, 1, 0]
    assert arrays["node_names"].tolist() == ["a", "b", "c"]


class Python2Pickler(pickle._Pickler):
    """Writes byte strings as Python 2 did, and classes under the names they had."""

    dispatch = dict(pickle._Pickler.dispatch)  # noqa: RUF012

    def __init__(self, file):
        super().__init__(file, protocol=2, fix_imports=True)

    def save_bytes(self, content):
        self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)
        self.memoize(content)

    dispatch[bytes] = save_bytes


PYTHON_2_NAMES = {b"scipy.sparse._csr": b"scipy.sparse.csr", b"numpy._core": b"numpy.core"}


def python2_pickle(thing):
    file = io.BytesIO()
    Python2Pickler(file).dump(thing)
    content = file.getvalue()
    for new, old in PYTHON_2_NAMES.items():
        content = content.replace(b"c" + new, b"c" + old)
    return content


def planetoid_files():
    from collections import defaultdict

    graph = defaultdict(list, {0: [1, 1], 1: [0, 2], 2: [1], 3: [3], 4: [0]})
    one_hot = np.eye(2, dtype=np.int32)
    things = {
        "x": sp.csr_matrix(np.array([[1, 0]], np.float32)),
        "y": one_hot[[0]],
        "allx": sp.csr_matrix(np.array([[1, 0], [0, 2.5], [0, 0]], np.float32)),
        "ally": np.array([[1, 0], [0, 1], [0, 1]], np.int32),
        "tx": sp.csr_matrix(np.array([[0, 7.0], [9, 0]], np.float32)),
        "ty": one_hot[[1, 0]],
        "graph": graph,
    }
    files = {f"ind.mini.{key}": python2_pickle(thing) for key, thing in things.items()}
    return files | {"ind.mini.test.index": b"5\n3\n"}


def test_planetoid_files():
    arrays = convert_pickles.planetoid(planetoid_files())
    assert csr(arrays, "attr").tolist() == [[1, 0], [0, 2.5], [0, 0], [9, 0], [0, 0], [0, 7]]
    assert arrays["labels"].tolist() == [0, 1, 1, 0, -1, 1]  # node 4 is in neither part
    adjacency = csr(arrays, "adj") > 0
    assert np.argwhere(np.triu(adjacency)).tolist() == [[0, 1], [0, 4], [1, 2], [3, 3]]
    assert arrays["idx_train"].tolist() == [0]
    assert arrays["idx_test"].tolist() == [3, 5]


def test_airport_files():
    graph = nx.Graph([(7, 9), (9, 9), (9, 4)])
    rows = [[0.5, 0.1, 0.2, 0.9, 0.99], [0.1, 0.2, 0.3, 1.0, 1.15], [0.3, 0.1, 0.1, 0.8, 1.3]]
    for node, feat in zip(graph, rows, strict=True):
        graph.nodes[node]["feat"] = feat
    graph.__dict__.pop("adj", None)  # the original keeps no other view than that of its nodes
    assert "nodes" in graph.__dict__
    arrays = convert_pickles.airport({"airport.p": pickle.dumps(graph)})
    assert np.argwhere(np.triu(csr(arrays, "adj"))).tolist() == [[0, 1], [1, 1], [1, 2]]
    assert arrays["feat"].tolist() == rows
    assert arrays["labels"].tolist() == [0, 2, 3]


def test_other_original_files():
    masks = np.zeros((2, 3), bool)
    content = npz(
        edges=np.array([[0, 1], [1, 2]]),
        node_features=FEATURES.toarray(),
        node_labels=np.array([2, 0, 1]),
        train_masks=masks,
        val_masks=masks,
        test_masks=masks,
    )
    arrays = READERS["arrays"]({"texas.npz": content})
    assert (arrays["attr_dense"] == FEATURES.toarray()).all()
    assert arrays["train_masks"].shape == (2, 3)
    assert np.argwhere(np.triu(csr(arrays, "adj"))).tolist() == [[0, 1], [1, 2]]

    files = {"b-airports.edgelist": b"30 10\n10 20\n", "labels-b-airports.txt": b"node label\n30 1\n10 0\n20 3\n"}
    arrays = READERS["struc2vec"](files)
    assert arrays["node_names"].tolist() == ["10", "20", "30"]
    assert arrays["labels"].tolist() == [0, 3, 1]
    assert np.argwhere(np.triu(csr(arrays, "adj"))).tolist() == [[0, 1], [0, 2]]

    arrays = READERS["closure"]({"c.csv": b"id1,id2,weight\nb,a,1\nc,a,1\n"})
    assert arrays["node_names"].tolist() == ["a", "b", "c"]
    assert np.argwhere(csr(arrays, "adj")).tolist() == [[1, 0], [2, 0]]

    feats, labels = io.BytesIO(), io.BytesIO()
    sp.save_npz(feats, sp.csr_matrix(FEATURES))
    np.save(labels, np.array([1.0, 0.0, 1.0]))
    files = {"d.edges.csv": b"0,1\n1,2\n", "d.labels.npy": labels.getvalue(), "d.feats.npz": feats.getvalue()}
    arrays = READERS["disease"](files)
    assert arrays["attr_dense"].tolist() == FEATURES.toarray().tolist()
    assert arrays["labels"].tolist() == [1, 0, 1]


def test_pickled_originals_are_not_read_but_converted_once(tmp_path, monkeypatch):
    """The tool's file is taken from where the originals would be; the originals themselves never are."""
    files = planetoid_files()
    sources = tuple(
        Source(name, "https://127.0.0.1", None, hashlib.sha256(content).hexdigest(), None)
        for name, content in files.items()
    )
    entry = dataclasses.replace(find_entry("cora"), name="mini", nodes=6, edges=3, sources=(sources,))
    (tmp_path / "mini").mkdir()
    for name, content in files.items():
        (tmp_path / "mini" / name).write_bytes(content)
    with pytest.raises(DownloadError, match=r"pickles, which are not read: python tools/convert_pickles.py mini"):
        dataset_arrays(entry, cache=tmp_path)
    monkeypatch.setattr(convert_pickles, "fetch", lambda source, folder: tmp_path / "mini" / source.name)
    convert_pickles.convert(entry, tmp_path)
    assert dataset_arrays(entry, cache=tmp_path)["labels"].tolist() == [0, 1, 1, 0, -1, 1]
    wrong = dataclasses.replace(entry, sources=((dataclasses.replace(sources[0], sha256="0" * 64), *sources[1:]),))
    with pytest.raises(IntegrityError, match="expected SHA-256 0000"):
        convert_pickles.convert(wrong, tmp_path)
