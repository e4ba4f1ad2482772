"""Whole runs and their directories: resumed, killed, damaged."""

import signal
import time

import pytest
import torch

import training_worker
from kappagcn.classification.evaluation import run_record
from kappagcn.classification.fitting import fit
from kappagcn.training.checkpoint import load_tensors
from kappagcn.training.settings import TrainingSettings
from small_networks import network, same
from workers import Worker


@pytest.mark.parametrize("stop", [1, 7, 19])
def test_a_resumed_run_ends_in_the_same_bits(stop, data, split, tmp_path):
    config = TrainingSettings(epochs=30, random_state=1)
    whole = fit(one := network("U2xH2"), data, split, config, folder=tmp_path / "whole")

    class Stopped(Exception):
        pass

    def interrupt(record):
        if record["epoch"] == stop:
            raise Stopped

    with pytest.raises(Stopped):
        fit(network("U2xH2"), data, split, config, folder=tmp_path / "b", callbacks=[interrupt], checkpoint_seconds=0)
    other = network("U2xH2", seed=99)  # its own weights do not matter: the checkpoint has them
    torch.manual_seed(stop)  # nor does the caller's random state
    resumed = fit(other, data, split, config, folder=tmp_path / "b", resume=True)
    assert resumed.history == whole.history
    same(dict(other.state_dict()), dict(one.state_dict()))
    for file in ("metrics.jsonl", "config.json"):
        assert (tmp_path / "b" / file).read_text() == (tmp_path / "whole" / file).read_text()
    again = fit(network("U2xH2"), data, split, config, folder=tmp_path / "b", resume=True)  # finished: nothing to do
    assert again.history == whole.history


@pytest.mark.parametrize("moment", [{"epoch": 1}, {"epoch": 37}, {"write": 2}, {"write": 9}], ids=str)
def test_a_killed_run_ends_in_the_same_bits(tmp_path, moment):
    killed = Worker(training_worker.be_killed, tmp_path / "killed", 60, moment)
    assert killed.ended()[2] == -signal.SIGKILL
    assert not (tmp_path / "killed" / "model.safetensors").exists()
    for name in ("killed", "whole"):
        training_worker.train(tmp_path / name, 60)
    killed, whole = (load_tensors(tmp_path / name / "checkpoint.safetensors")[0] for name in ("killed", "whole"))
    same(killed, whole)
    for file in ("metrics.jsonl", "model.safetensors"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file
    assert len((tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()) == 60
    assert not list((tmp_path / "killed").glob("*.part"))


def test_ctrl_c_saves_the_last_whole_epoch(tmp_path):
    def interrupt(record):
        if record["epoch"] == 20:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"after epoch 20, saved in .*; resume=True continues from there"):
        training_worker.train(tmp_path / "run", 100_000, [interrupt], checkpoint_seconds=1000)
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 20


def test_the_time_of_a_resumed_run_is_that_of_all_its_epochs(data, split, tmp_path):
    def stop(record):
        time.sleep(0.001)
        if record["epoch"] == 20:
            raise InterruptedError

    config = TrainingSettings(epochs=21)
    slow = network()
    slow.register_forward_hook(lambda *_: time.sleep(0.01))
    with pytest.raises(InterruptedError):
        fit(slow, data, split, config, folder=tmp_path, callbacks=[stop], checkpoint_seconds=0)
    result = fit(network(), data, split, config, folder=tmp_path, resume=True)
    assert result.seconds > 19 * 0.01, "of which the last epoch, which alone was resumed, is a small part"
    assert run_record(result)["epoch_milliseconds"] >= 9
    again = fit(network(), data, split, config, folder=tmp_path, resume=True)
    assert again.seconds == result.seconds
