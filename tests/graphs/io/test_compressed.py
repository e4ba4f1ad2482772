"""Compressed text files."""

import bz2
import gzip
from pathlib import Path

import pytest
import zstandard

from kappagcn.errors import GraphFileError
from kappagcn.graphs import read_graph
from kappagcn.graphs.io import compressed as module
from kappagcn.graphs.io.compressed import compressed, ending_of, read_content, stem_of

TEXT = b"source,target\nann,bob\nbob,cem\n"
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("ending", PACKERS)
def test_files_that_other_programs_packed(tmp_path, ending):
    file = tmp_path / f"friends.csv{ending}"
    file.write_bytes(PACKERS[ending](TEXT))
    (tmp_path / "friends.labels.csv").write_text("ann,a\nbob,b\ncem,a\n")
    data = read_graph(file)
    assert data.node_names == ["ann", "bob", "cem"]
    assert data.y.tolist() == [0, 1, 0]
    assert data.name == "friends"
    assert read_content(file) == TEXT


@pytest.mark.parametrize("ending", PACKERS)
def test_what_is_packed_is_unpacked(tmp_path, ending):
    file = tmp_path / f"a.csv{ending}"
    packed = compressed(TEXT * 1000, file)
    assert len(packed) < len(TEXT * 1000) / 10
    file.write_bytes(packed)
    assert read_content(file) == TEXT * 1000
    assert compressed(TEXT, tmp_path / "a.csv") == TEXT


def test_names_and_endings():
    assert [ending_of(Path(name)) for name in ("a.CSV.GZ", "a.mtx", "b.gz", "b")] == [".csv", ".mtx", "", ""]
    assert [stem_of(Path(name)) for name in ("a.b.csv.gz", "a.mtx")] == ["a.b", "a"]


def test_damaged_and_wrong_files_are_refused(tmp_path, monkeypatch):
    for ending in PACKERS:
        file = tmp_path / f"a.csv{ending}"
        file.write_bytes(b"this is not compressed at all")
        with pytest.raises(GraphFileError, match=f"a.csv{ending}: cannot be read"):
            read_graph(file)
    (tmp_path / "a.npz.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(GraphFileError, match=r"expected a compressed file of text, .* Unpack it first"):
        read_graph(tmp_path / "a.npz.gz")
    monkeypatch.setattr(module, "UNPACKED_LIMIT", 1000)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"0 1\n" * 1000))
    with pytest.raises(GraphFileError, match="expected a file that unpacks to at most 1,000 bytes"):
        read_graph(tmp_path / "bomb.csv.gz")
