"""A rank that dies or hangs ends the run with its number; any number of ranks takes the run up."""

import functools
import json
import signal

import pytest
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from typer.testing import CliRunner

import cli_worker
import restarted_worker
import stuck_worker
import workers
from kappagcn.cli import app

COMMAND = ["classify", "disease", "--space", "H4", "--epochs", "100", "--set", "patience=400", "--set", "threads=1"]


def started(folder, count, *extra, **signalled):
    """Workers that classify together; one may be given a signal in the midst of it."""
    arguments = [*COMMAND, "--distributed", "--out", str(folder), *extra]
    return workers.group(functools.partial(cli_worker.main, arguments, **signalled), count)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The same run in one process, without an interruption."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    result = CliRunner().invoke(app, [*COMMAND, "--out", str(folder), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def agrees(result, alone):
    assert result["accuracy"] == pytest.approx(alone["accuracy"], abs=0.0101), "two of 200 nodes"
    assert result["epochs"] == alone["epochs"]
    assert result["curvatures"] == pytest.approx(alone["curvatures"], rel=0.02)


def test_a_killed_worker_is_named_and_other_numbers_of_workers_resume_to_the_same_numbers(tmp_path, alone):
    folder = tmp_path / "run"
    witness, victim = started(folder, 2, rank=1, epoch=30, by=signal.SIGKILL)
    _, words, code = witness.ended()
    assert code == 1
    assert victim.ended()[2] == -signal.SIGKILL
    assert "Traceback" not in words
    line = words.strip().splitlines()[-1]
    assert "look at rank 1" in line
    assert "--resume continues" in line
    assert not (folder / "summary.json").exists()
    (out, words, code), *others = (worker.ended() for worker in started(folder, 3, "--resume", "--json"))
    assert code == 0, words
    assert all(result == ("", "", 0) for result in others), "one worker alone speaks"
    agrees(json.loads(out), alone)


@pytest.mark.parametrize(("how", "witness", "words"), [("stuck", 0, "look at rank 1"), ("keeper", 1, "look at rank 0")])
def test_a_worker_that_is_stuck_alive_is_named_and_so_is_the_keeper_of_the_list(how, witness, words):
    processes = workers.group(stuck_worker.main, 2, how)
    try:
        said, complaints, _ = processes[witness].ended()
        assert words in said, complaints
    finally:
        for process in processes:
            process.kill()


def launcher(folder, restarts, function, processes=2):
    """torchrun's own launcher of processes, which are forked from one that has imported the package."""
    logs = DefaultLogsSpecs(log_dir=str(folder / "logs"), redirects=Std.ALL)
    options = {"rdzv_backend": "c10d", "rdzv_endpoint": "localhost:0", "logs_specs": logs, "monitor_interval": 0.1}
    config = LaunchConfig(1, 1, processes, max_restarts=restarts, **options)
    config.start_method = workers.CONTEXT.get_start_method()
    return elastic_launch(config, function)


def test_torchrun_starts_the_processes_again(tmp_path):
    """The second ones do not look for the first; of a pair either may look for the other, hence several."""
    assert launcher(tmp_path, 1, restarted_worker.main, 4)() == dict.fromkeys(range(4), 4.0)


def test_under_torchrun_a_refusal_is_said_once(tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(ChildFailedError):
        launcher(tmp_path, 0, cli_worker.main)([*COMMAND, "--distributed", "--out", str(tmp_path / "run")])
    lines = [line for file in (tmp_path / "logs").rglob("stderr.log") for line in file.read_text().splitlines()]
    said = [line for line in lines if line.startswith("kappagcn: ")]
    assert len(said) == 1
    assert "expected a folder for the run, found a file" in said[0]
    assert (tmp_path / "run").read_text() == "mine"
