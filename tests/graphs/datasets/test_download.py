import dataclasses
import functools
import os
import threading
from types import SimpleNamespace

import pytest

from http_server import site
from kappagcn.errors import DownloadError, IntegrityError
from kappagcn.graphs.datasets.sources import fetch, verified_bytes
from workers import Worker, wait_until

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def server():
    with site() as result:
        yield result


@pytest.fixture
def hold(server):
    """Half of a file is sent; the rest when this is set."""
    event = threading.Event()
    yield event
    event.set()


def quick(source, folder, **more):
    return fetch(source, folder, timeout=2, progress=False, **more)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    """Attempts follow each other at once."""
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.mark.parametrize("size", [True, False])
@pytest.mark.parametrize("sha256", [True, False])
def test_a_file_arrives_whole_under_its_name(server, tmp_path, size, sha256):
    source = server.source("a.bin", CONTENT, size=size, sha256=sha256)
    path = quick(source, tmp_path / "new" / "folder")
    assert path.read_bytes() == CONTENT == verified_bytes(path, source)
    assert os.listdir(path.parent) == ["a.bin"]


@pytest.mark.parametrize("claim", [True, False])
@pytest.mark.parametrize("cut", [0, 1, 4095, 4096, 5000, len(CONTENT) - 1])
def test_a_download_cut_at_any_byte_leaves_nothing_and_is_tried_again(server, tmp_path, cut, claim):
    source = server.source("a.bin", CONTENT)
    server.behave = lambda count: {"cut": cut, "claim": claim}
    with pytest.raises((DownloadError, IntegrityError), match=r"a\.bin"):
        quick(source, tmp_path)
    assert len(server.requests) == 3
    assert os.listdir(tmp_path) == []
    server.behave = lambda count: {"cut": cut, "claim": claim} if count < 5 else {}
    assert quick(source, tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 6


def test_a_cut_file_of_unknown_size_is_caught_by_its_hash(server, tmp_path):
    source = server.source("a.bin", CONTENT, size=False)
    server.behave = lambda count: {"cut": 5000, "claim": False}
    with pytest.raises(IntegrityError, match=f"known hash: expected sha256:{source.sha256}"):
        quick(source, tmp_path)
    assert os.listdir(tmp_path) == []


def test_wrong_bytes_are_never_kept(server, tmp_path):
    source = server.source("a.bin", CONTENT)
    server.files["/a.bin"] = CONTENT[:-1] + b"x"
    with pytest.raises(IntegrityError, match=f"known hash: expected sha256:{source.sha256}"):
        quick(source, tmp_path)
    server.files["/a.bin"] = CONTENT + b"more"
    with pytest.raises(IntegrityError, match="known hash"):
        quick(source, tmp_path)
    only_blob = dataclasses.replace(source, sha256=None, bytes=None)
    with pytest.raises(IntegrityError, match=r"expected git blob .*, found .* \(10,244 bytes\)"):
        quick(only_blob, tmp_path)
    with pytest.raises(IntegrityError, match="expected git blob None"):
        quick(dataclasses.replace(only_blob, git_blob=None), tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("status", "tries"), [(404, 1), (403, 1), (500, 3), (503, 3), (429, 3)])
def test_what_may_pass_is_tried_again_and_what_will_not_is_not(server, tmp_path, status, tries):
    source = server.source("a.bin", CONTENT)
    server.behave = lambda count: {"status": status}
    with pytest.raises(DownloadError, match="could not be fetched"):
        quick(source, tmp_path)
    assert len(server.requests) == tries


def test_a_server_that_hangs_is_given_up(server, tmp_path, hold):
    source = server.source("a.bin", CONTENT)
    server.behave = lambda count: {"hold": hold}
    with pytest.raises(DownloadError, match="timed out"):
        fetch(source, tmp_path, timeout=0.2, retries=1, progress=False)
    assert len(server.requests) == 2


def test_only_http_is_fetched(tmp_path, server):
    source = dataclasses.replace(server.source("a.bin", CONTENT), url=f"file://{tmp_path}/secret")
    with pytest.raises(DownloadError, match="expected an http address"):
        quick(source, tmp_path)


def test_a_server_that_does_not_answer(tmp_path, server):
    source = dataclasses.replace(server.source("a.bin", CONTENT), url="http://127.0.0.1:9/a.bin")
    with pytest.raises(DownloadError, match="refused"):
        quick(source, tmp_path)


def test_temporary_files_of_killed_processes_are_removed_and_those_of_others_left(server, tmp_path):
    source = server.source("a.bin", CONTENT)
    old, new = tmp_path / "tmpabcdefgh", tmp_path / "tmpijklmnop"
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (0, 0))
    quick(source, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "tmpijklmnop"]
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_a_failed_write_leaves_the_old_file_and_no_part(server, tmp_path, monkeypatch):
    source = server.source("a.bin", CONTENT)
    (tmp_path / "a.bin").write_bytes(b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("shutil.move", fail)
    with pytest.raises(DownloadError, match=r"could not be kept in .*disk full"):
        quick(source, tmp_path)
    assert os.listdir(tmp_path) == ["a.bin"]
    assert (tmp_path / "a.bin").read_bytes() == b"old"


def another_process(source, folder):
    return Worker(functools.partial(fetch, source, folder, timeout=20, progress=False))


def test_processes_that_fetch_at_once_do_not_break_each_other(server, tmp_path, hold):
    source = server.source("a.bin", CONTENT * 20)
    server.behave = lambda count: {"hold": hold}
    both = [another_process(source, tmp_path) for _ in range(2)]
    wait_until(lambda: len(server.requests) == 2)
    assert not (tmp_path / "a.bin").exists()
    hold.set()
    wait_until((tmp_path / "a.bin").exists)
    assert (tmp_path / "a.bin").read_bytes() == CONTENT * 20, "never anything but the whole file"
    for process in both:
        _, complaints, code = process.ended()
        assert code == 0, complaints
    assert (tmp_path / "a.bin").read_bytes() == CONTENT * 20
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("begun", [False, True])
def test_a_killed_download_leaves_no_file_under_its_name(server, tmp_path, hold, begun):
    source = server.source("a.bin", CONTENT * 20)
    server.behave = lambda count: {"hold": hold} if count == 0 else {}
    process = another_process(source, tmp_path)
    wait_until(lambda: any(path.stat().st_size for path in tmp_path.iterdir()) if begun else server.requests)
    process.kill()
    hold.set()
    assert not (tmp_path / "a.bin").exists()
    assert quick(source, tmp_path).read_bytes() == CONTENT * 20
