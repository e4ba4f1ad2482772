"""Files that are written completely or not at all."""

import os
import stat

import numpy as np
import pytest

from kappagcn.io_atomic import atomic_write, save_arrays


def test_a_file_appears_with_its_folder_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "file.txt"
    with atomic_write(path) as file:
        file.write(b"content")
        assert not path.exists()
    assert path.read_bytes() == b"content"
    assert os.listdir(path.parent) == ["file.txt"]


def write_half(path, error):
    with atomic_write(path) as file:
        file.write(b"half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")
    with pytest.raises(error):
        write_half(path, error)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_permissions_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "file.txt") as file:
            file.write(b"content")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file.txt").stat().st_mode) == 0o640


def test_the_mask_of_the_process_is_not_touched(tmp_path, monkeypatch):
    """It belongs to all threads: one that is 0 for a moment makes private files of others readable by everybody."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the mask of all threads was changed"))
    with atomic_write(tmp_path / "file.txt") as file:
        file.write(b"content")
    assert (tmp_path / "file.txt").read_bytes() == b"content"


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "private.txt"
    path.touch(0o600)
    with atomic_write(path) as file:
        file.write(b"content")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"content", 0o600)


def test_symbolic_links_are_followed(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "store" / "file.txt")
    for content in (b"first", b"second"):
        with atomic_write(tmp_path / "link.txt") as file:
            file.write(content)
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "store" / "file.txt").read_bytes() == content
    assert os.listdir(tmp_path / "store") == ["file.txt"]


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(tmp_path / "pipe") as file:
        file.write(b"content")
    assert os.read(reader, 100) == b"content"
    os.close(reader)
    assert os.listdir(tmp_path) == ["pipe"]


def test_arrays_are_stored_under_their_names_alone(tmp_path):
    with atomic_write(tmp_path / "a.npz") as file:
        save_arrays(file, x=np.arange(3), names=np.array(["a", "b"]))
    with np.load(tmp_path / "a.npz", allow_pickle=False) as stored:
        assert sorted(stored.files) == ["names", "x"]
        assert stored["x"].tolist() == [0, 1, 2]


def test_python_objects_are_refused_and_leave_no_file(tmp_path):
    with pytest.raises(TypeError, match="Python objects in b"), atomic_write(tmp_path / "a.npz") as file:
        save_arrays(file, a=np.arange(3), b=np.array([object()]))
    assert os.listdir(tmp_path) == []
