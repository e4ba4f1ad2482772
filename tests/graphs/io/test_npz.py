import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kappagcn.graphs.io.npz as archive
from kappagcn import graphs as G
from kappagcn.errors import GraphFileError
from kappagcn.graphs import read_graph
from kappagcn.graphs.io.npz import read_arrays
from random_graphs import put


@pytest.mark.parametrize("nodes", [-1, 3.7, np.nan, "three", [], [3, 3]])
def test_num_nodes_that_is_no_number_of_nodes(tmp_path, nodes):
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]), num_nodes=nodes)
    with pytest.raises(GraphFileError, match="expected num_nodes as one number from 0"):
        G.read_graph(tmp_path / "g.npz")


@pytest.mark.parametrize(
    "arrays",
    [
        {"labels": np.array(1)},
        {"edge_weight": np.array(["a"])},
        {"edge_weight": np.array([1 + 2j])},
        {"node_names": np.array([b"\xff", b"a"])},
        {"edge_weight": np.array([], np.float64)},
    ],
)
def test_npz_parts_of_the_wrong_kind(tmp_path, arrays):
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]), **arrays)
    with pytest.raises(GraphFileError, match="expected"):
        G.read_graph(tmp_path / "g.npz")


def header(text):
    body = text.encode() + b" " * (63 - len(text) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': ('<f8', (2, 2)), 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 2), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 0, 100000000000000000000), }",
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': {(1,) * 70}, }}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (2, 1000000000), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<M8[D]', 'fortran_order': False, 'shape': (99999999999,), }",
    ],
)
def test_npy_headers_that_lie(tmp_path, text):
    with zipfile.ZipFile(tmp_path / "g.npz", "w") as file:
        file.writestr("edge_index.npy", header(text) + b"\0" * 8)
    with pytest.raises(GraphFileError, match="expected"):
        G.read_graph(tmp_path / "g.npz")


def test_damaged_lzma_members(tmp_path):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_LZMA) as file, file.open("edge_index.npy", "w") as member:
        np.save(member, np.zeros((2, 2000), np.int64))
    content = bytearray(memory.getvalue())
    refused = 0
    for place in range(60, 110):
        changed = content.copy()
        changed[place] ^= 0xFF
        try:
            G.read_graph(put(tmp_path, "g.npz", bytes(changed)))
        except GraphFileError:
            refused += 1
    assert refused > 10


def test_an_archive_of_zeros_is_refused_by_its_ratio(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "SMALL", 2**20)
    np.savez_compressed(tmp_path / "g.npz", edge_index=np.zeros((2, 10**6), np.int64))
    with pytest.raises(GraphFileError, match="200 times its size, found 16,000,"):
        G.read_graph(tmp_path / "g.npz")
    assert G.read_npz(tmp_path / "g.npz", limit=2**30).num_nodes == 1


GOOD = {
    "adj_data": np.ones(2, np.float32),
    "adj_indices": np.array([1, 0]),
    "adj_indptr": np.array([0, 1, 2, 2]),
    "adj_shape": np.array([3, 3]),
    "attr_dense": np.ones((3, 2), np.float32),
    "labels": np.array([0, 1, -1]),
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"adj_indices": np.array([1, 5])}, "expected adj_indices below 3, found 5"),
        ({"adj_indices": np.array([1, -1])}, "expected adj_indices below 3"),
        ({"adj_indices": np.array([1])}, "found 4 entries and 1 indices"),
        ({"adj_indptr": np.array([0, 2, 1, 2])}, "expected adj_indptr with 4 rising entries"),
        ({"adj_indptr": np.array([0, 1, 2])}, "expected adj_indptr with 4 rising entries"),
        ({"adj_shape": np.array([3, 4])}, r"expected a square adjacency matrix, found \(3, 4\)"),
        ({"adj_shape": np.array([3, 2**40])}, "two numbers below 2³¹"),
        ({"adj_shape": np.array([3.0, 3.0])}, "two numbers below 2³¹"),
        ({"adj_data": np.array(["a", "b"])}, "expected adj_data as a list of numbers"),
        ({"adj_data": np.array([1.0, np.nan])}, "weights that are positive and finite"),
        ({"attr_dense": np.ones((4, 2))}, "expected x for 3 nodes, found 4"),
        ({"attr_dense": np.full((3, 2), np.nan)}, "expected finite features, found 6 entries"),
        ({"attr_dense": np.array([["a"]] * 3)}, "features as numbers"),
        ({"labels": np.array([0, 1])}, "expected y for 3 nodes, found 2"),
        ({"labels": np.array([0, 1, 9])}, "expected labels from 0 to 2"),
        ({"labels": np.array([0, 1, -2])}, "or −1 for unknown, found -2 to 1"),
        ({"class_names": np.array(["only"])}, "expected labels from 0 to 0"),
        ({"node_names": np.array(["a", "b"])}, "expected node_names for 3 nodes, found 2"),
        ({"node_names": np.arange(3)}, "expected node_names as a list of text"),
    ],
)
def test_npz_whose_parts_disagree(tmp_path, change, words):
    path = tmp_path / "bad.npz"
    np.savez(path, **{**GOOD, **change})
    with pytest.raises(GraphFileError, match=words):
        read_graph(path)
    np.savez(path, **GOOD)
    assert read_graph(path).num_nodes == 3


@pytest.mark.parametrize("missing", ["adj_indices", "adj_indptr", "adj_shape"])
def test_npz_with_a_part_missing(tmp_path, missing):
    np.savez(tmp_path / "bad.npz", **{k: v for k, v in GOOD.items() if k != missing})
    with pytest.raises(GraphFileError, match=f"expected {missing} beside the rest"):
        read_graph(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", labels=[0])
    with pytest.raises(GraphFileError, match="edge_index, edges or adjacency, found labels"):
        read_graph(tmp_path / "bad.npz")


def npz_bytes(folder, **arrays):
    np.savez_compressed(folder / "g.npz", **arrays)
    return (folder / "g.npz").read_bytes()


@given(st.data())
def test_a_truncated_or_changed_npz_gives_one_clear_error_or_a_graph(tmp_path_factory, draw):
    folder = tmp_path_factory.mktemp("npz")
    content = bytearray(npz_bytes(folder, **GOOD))
    if draw.draw(st.booleans()):
        content = content[: draw.draw(st.integers(0, len(content) - 1))]
    for _ in range(draw.draw(st.integers(0, 4))):
        if content:
            content[draw.draw(st.integers(0, len(content) - 1))] = draw.draw(st.integers(0, 255))
    path = folder / "g.npz"
    path.write_bytes(bytes(content))
    try:
        read_graph(path)
    except GraphFileError as error:
        assert str(path) in str(error)
    assert path.read_bytes() == bytes(content)
    assert len(list(folder.iterdir())) == 1


def test_every_truncation_of_an_npz_is_noticed(tmp_path):
    content = npz_bytes(tmp_path, **GOOD)
    for length in range(0, len(content), 7):
        (tmp_path / "g.npz").write_bytes(content[:length])
        with pytest.raises(GraphFileError, match="expected an npz archive"):
            read_graph(tmp_path / "g.npz")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("adj_data.npy", "w") as file:
        for _ in range(64):
            file.write(bytes(2**20))
    with pytest.raises(GraphFileError, match=r"unpacks to at most 1,000,000 bytes .* found 67,108,864 from"):
        read_arrays(path, limit=1_000_000)
    assert path.stat().st_size < 100_000


def test_a_header_that_promises_too_much_is_refused(tmp_path):
    path = tmp_path / "lie.npz"
    np.save(tmp_path / "a.npy", np.zeros(4))
    content = (tmp_path / "a.npy").read_bytes().replace(b"(4,), }        ", b"(9999999999,), }")[:160]
    content = (tmp_path / "a.npy").read_bytes()
    shape = b"'shape': (4,), }          "
    assert shape in content
    content = content.replace(shape, b"'shape': (99999999999,), }")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("adj_data.npy", content)
    with pytest.raises(GraphFileError, match=r"expected 799,999,999,992 bytes for shape \(99999999999,\), found 160"):
        read_graph(path)


def test_dense_features_that_cannot_fit_are_refused(tmp_path):
    wide = {
        "attr_data": np.ones(1, np.float32),
        "attr_indices": np.array([2**30]),
        "attr_indptr": np.array([0, 1, 1, 1]),
        "attr_shape": np.array([3, 2**31 - 1]),
    }
    np.savez(tmp_path / "wide.npz", **{k: v for k, v in GOOD.items() if k != "attr_dense"}, **wide)
    with pytest.raises(GraphFileError, match="Keep them sparse with sparse=True"):
        read_graph(tmp_path / "wide.npz")
    assert read_graph(tmp_path / "wide.npz", sparse=True).x.shape == (3, 2**31 - 1)
