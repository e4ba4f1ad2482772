"""A worker that dies or hangs ends the run with its name; any number of workers takes the run up."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kappagcn.cli import app

COMMAND = ["classify", "disease", "--space", "H4", "--epochs", "400", "--patience", "400", "--threads", "1"]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def processes_of(command, workers):
    """Workers as torchrun would start them, one process each."""
    told = {"WORLD_SIZE": str(workers), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **told}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [subprocess.Popen(command, env={**environment, "RANK": str(rank)}, **options) for rank in range(workers)]


def started(folder, workers, *extra):
    return processes_of(
        [sys.executable, "-m", "kappagcn", *COMMAND, "--distributed", "--out", str(folder), *extra], workers
    )


def wait_for(path, seconds=90):
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.05)


def ended(processes, seconds=90):
    return [(*process.communicate(timeout=seconds), process.returncode) for process in processes]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The same run in one process, without an interruption."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    result = CliRunner().invoke(app, [*COMMAND, "--out", str(folder), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def agrees(found, alone):
    assert found["accuracy"] == pytest.approx(alone["accuracy"], abs=0.0101), "two of 200 nodes"
    assert found["epochs"] == alone["epochs"]
    assert found["curvatures"] == pytest.approx(alone["curvatures"], rel=0.02)


def test_a_killed_worker_is_named_and_other_numbers_of_workers_go_on_to_the_same_numbers(tmp_path, alone):
    folder = tmp_path / "run"
    processes = started(folder, 2)
    wait_for(folder / "runs" / "split0-run0" / "config.json")
    time.sleep(0.3)
    victim = processes[1]
    victim.send_signal(signal.SIGKILL)
    (_, words, code), _ = ended(processes)
    assert code == 1
    assert "Traceback" not in words
    line = words.strip().splitlines()[-1]
    assert f"worker 1 (process {victim.pid}" in line
    assert "--resume goes on" in line
    assert not (folder / "summary.json").exists()
    (out, words, code), *others = ended(started(folder, 3, "--resume", "--json"), 180)
    assert code == 0, words
    assert all(found == ("", "", 0) for found in others), "one worker alone speaks"
    agrees(json.loads(out), alone)


def test_a_hanging_worker_is_named_after_the_timeout(tmp_path):
    folder = tmp_path / "run"
    processes = started(folder, 2, "--timeout", "4")
    wait_for(folder / "runs" / "split0-run0" / "config.json")
    time.sleep(0.2)
    start = time.monotonic()
    processes[1].send_signal(signal.SIGSTOP)
    try:
        _, words = processes[0].communicate(timeout=60)
    finally:
        processes[1].send_signal(signal.SIGKILL)
        processes[1].communicate()
    assert processes[0].returncode == 1
    assert f"worker 1 (process {processes[1].pid}" in words.strip().splitlines()[-1]
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    ("how", "witness", "words"), [("stuck", 0, "worker 1 (process "), ("keeper", 1, "worker 0, or")]
)
def test_a_worker_that_is_stuck_alive_is_named_and_so_is_the_keeper_of_the_list(how, witness, words):
    processes = processes_of([sys.executable, str(Path(__file__).parent / "stuck_worker.py"), how], 2)
    try:
        said, complaints = processes[witness].communicate(timeout=60)
        assert words in said, complaints
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_under_torchrun_a_refusal_is_said_once(tmp_path):
    (tmp_path / "run").write_text("mine")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    arguments = ["-m", "kappagcn", *COMMAND, "--distributed", "--out", str(tmp_path / "run")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("kappagcn: ")]
    assert len(said) == 1
    assert "expected a folder for the run, found a file" in said[0]
    assert (tmp_path / "run").read_text() == "mine"
