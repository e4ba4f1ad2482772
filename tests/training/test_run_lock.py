"""The lock of a run folder among processes."""

import os
import time

import pytest

import lock_worker
from kappagcn.errors import CheckpointError
from kappagcn.training.run_lock import locked
from workers import Worker, wait_until


def test_a_second_process_is_refused_and_the_first_is_named(tmp_path):
    run = tmp_path / "runs" / "mine"
    other = Worker(lock_worker.hold, run)
    wait_until((run / "held").exists)
    with pytest.raises(CheckpointError, match=rf"mine: process {other.pid} is writing this run"), locked(run):
        pytest.fail("two processes have the lock")
    other.kill()  # the lock of a killed process is gone with it
    with locked(run):
        assert (run / ".lock").read_text().strip() == str(os.getpid())
    assert os.listdir(run) == ["held"]


def test_many_processes_take_turns(tmp_path):
    workers = [Worker(lock_worker.add_in_turn, tmp_path / "run", 20) for _ in range(4)]
    assert [worker.ended()[2] for worker in workers] == [0] * 4
    assert (tmp_path / "run" / "count").read_text() == "80"


def write_settings_and_fail(folder, *names):
    with locked(folder):
        for name in names:
            (folder / name).write_text("{}")
        time.sleep(0)
        raise ValueError("refused")


def test_a_run_that_is_refused_leaves_no_folder(tmp_path):
    for names, is_left in ((("config.json",), False), (("config.json", "checkpoint.safetensors"), True)):
        with pytest.raises(ValueError, match="refused"):
            write_settings_and_fail(tmp_path / "run", *names)
        assert (tmp_path / "run").exists() == is_left
    (tmp_path / "mine").mkdir()
    with pytest.raises(ValueError, match="refused"):
        write_settings_and_fail(tmp_path / "mine", "config.json")
    assert os.listdir(tmp_path / "mine") == [], "a folder that was there before stays"
    with pytest.raises(ValueError, match="refused"):
        write_settings_and_fail(tmp_path / "runs" / "new")
    assert not (tmp_path / "runs").exists(), "nor its parents"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match="expected a folder for the run, found a file"), locked(tmp_path / "file"):
        pass
