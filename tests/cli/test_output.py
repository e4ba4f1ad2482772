import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_runs import contents, message_of, run
from kappagcn.training.trainer import Trainer


def test_what_is_for_machines_is_alone_on_standard_output(tmp_path):
    result = run("embed", "karate", "--space", "E2", "--epochs", "3", "--out", str(tmp_path / "r"), "--json")
    assert json.loads(result.stdout)["graph"] == "karate"
    assert "34 nodes" in result.stderr


@pytest.mark.parametrize("command", ["embed karate", "classify karate --set no-baselines=true", "link karate"])
def test_a_run_records_its_command_without_folders(tmp_path, monkeypatch, command):
    words = [*command.split(), "--epochs", "1", f"--out={tmp_path}/run", "--set", "seed=3"]
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kappagcn", *words])
    assert run(*words).exit_code == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["command"] == f"kappagcn {command} --epochs 1 --out=run --set seed=3"
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert run(*words[:-3], f"--out={tmp_path}/python").exit_code == 0
    assert "command" not in json.loads((tmp_path / "python" / "summary.json").read_text())


@pytest.mark.parametrize("name", ["summary.json", "metrics.jsonl", "embedding.npz", "model.safetensors"])
@pytest.mark.parametrize("command", ["embed karate --space H2", "classify disease --space H4"])
def test_files_of_others_are_not_overwritten(tmp_path, name, command):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("mine")
    result = run(*command.split(), "--epochs", "1", "--resume", "--out", tmp_path / "run")
    assert f"found {name} alone" in message_of(result)
    assert contents(tmp_path / "run") == {Path(name): b"mine"}


@pytest.mark.parametrize("writes", range(6))
def test_a_full_disk_leaves_whole_files_and_a_run_to_resume(tmp_path, monkeypatch, writes):
    command = ["embed", "karate", "--space", "H2", "--epochs", "3", "--out", tmp_path / "run"]
    left = [writes]

    def fsync(file):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr("kappagcn.io_atomic.os.fsync", fsync)
        result = run(*command)
    if result.exit_code == 0:
        assert left[0] >= 0, "a write failed unnoticed"
        return
    assert "No space left on device" in message_of(result, result.exit_code)
    assert not list((tmp_path / "run").glob("*.part"))
    assert run(*command, "--resume").exit_code == 0
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["epochs"] == 3


@pytest.mark.parametrize(
    "command", ["embed small_tree --space H2(-1) --epochs 40", "classify disease --splits 2 --epochs 40"]
)
def test_ctrl_c_leaves_a_run_that_can_be_resumed(tmp_path, command, monkeypatch):
    run_epoch = Trainer.run_epoch

    def interrupted(trainer):
        if trainer.epoch == 9:
            signal.raise_signal(signal.SIGINT)
        return run_epoch(trainer)

    with monkeypatch.context() as keyboard:
        keyboard.setattr(Trainer, "run_epoch", interrupted)
        last = message_of(run(*command.split(), "--out", tmp_path / "run"), 130)
    assert last.startswith("kappagcn: stopped after epoch 10, saved in")
    assert "--resume continues from there" in last
    report = run("report", tmp_path / "run")  # an embedding as far as it came, of a classification the last part
    assert report.exit_code == 0 if command.startswith("embed") else "interrupted" in message_of(report)
    other = [*command.split(), "--out", tmp_path / "run", "--resume", "--seed", "1"]
    assert "expected to resume with the settings" in message_of(run(*other))
    assert run(*command.split(), "--out", tmp_path / "run", "--resume").exit_code == 0


def test_a_reader_that_leaves_early_gets_no_traceback():
    command = f"{shlex.quote(sys.executable)} -m kappagcn data list | head -1"
    finished = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "name" in finished.stdout
    assert "Traceback" not in finished.stderr
    assert "BrokenPipe" not in finished.stderr
