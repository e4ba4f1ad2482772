"""Arrays read and written by slices."""

import numpy as np
import pytest

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.array_file import ArrayFile, ArrayWriter


def test_slices_are_those_of_the_array(tmp_path):
    array = np.arange(24, dtype=np.int32).reshape(2, 12)
    np.save(tmp_path / "a.npy", array)
    file = ArrayFile(tmp_path / "a.npy")
    assert np.array_equal(file.read(1, 2), array[1:2])
    assert np.array_equal(file.read(3, 7, plane=1), array[1, 3:7])
    assert np.array_equal(file.all(), array)
    assert file.read(2, 1).shape == (0, 12)


def test_what_was_written_in_blocks_is_an_ordinary_npy_file(tmp_path):
    writer = ArrayWriter(tmp_path / "a.npy", np.float16, 3)
    blocks = [np.ones((2, 3)), np.empty((0, 3)), np.full((1, 3), 2.0)]
    for block in blocks:
        writer.write(block)
    writer.close()
    loaded = np.load(tmp_path / "a.npy")
    assert loaded.dtype == np.float16
    assert np.array_equal(loaded, np.concatenate(blocks))


def test_damaged_files_are_refused(tmp_path):
    (tmp_path / "a.npy").write_bytes(b"nonsense")
    with pytest.raises(GraphFileError, match="expected a NumPy array"):
        ArrayFile(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.arange(100))
    (tmp_path / "b.npy").write_bytes((tmp_path / "b.npy").read_bytes()[:-8])
    with pytest.raises(GraphFileError, match="cut short"):
        ArrayFile(tmp_path / "b.npy")
    np.save(tmp_path / "c.npy", np.asfortranarray(np.ones((2, 2))))
    with pytest.raises(GraphFileError, match="by rows"):
        ArrayFile(tmp_path / "c.npy")
