"""Whole runs and their directories: resumed, killed, damaged."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
import torch

from kappagcn.errors import CheckpointError, PrecisionWarning
from kappagcn.graphs import random_split
from kappagcn.models import GCN, HGCN, MLP
from kappagcn.training import (
    TrainingConfig,
    final_evaluation,
    fit,
    load_model,
    seeded,
)
from small_networks import network, same


@pytest.mark.parametrize("build", [network, lambda: GCN(10, 2), lambda: HGCN(10, 2), lambda: MLP(10, 2)])
def test_training_learns(build, data, split):
    with seeded(1):
        model = build()
    before = final_evaluation(model, data, split)["accuracy"]
    result = fit(model, data, split, TrainingConfig(epochs=150, patience=150))
    after = final_evaluation(model, data, split)
    assert result.history[-1]["train_loss"] < 0.6 * result.history[0]["train_loss"]
    assert after["accuracy"] > max(before, 0.6)


@pytest.mark.parametrize("stop", [1, 7, 19])
def test_a_resumed_run_ends_in_the_same_bits(stop, data, split, tmp_path):
    config = TrainingConfig(epochs=30, seed=1)
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


KILLED = """
import sys, torch
from kappagcn.graphs import disease, random_split
from kappagcn.models import KappaGCN
from kappagcn.training import TrainingConfig, fit, seeded
torch.set_num_threads(1)
data = disease(200)
data.x = 0.1 * data.x
with seeded(0):
    model = KappaGCN(10, 2, "H2xS2", dropout=0.3, adjacency_dropout=0.2)
say = lambda record: print(record["epoch"], flush=True)
fit(model, data, random_split(data.y, 0), TrainingConfig(epochs=int(sys.argv[2]), patience=10_000), folder=sys.argv[1],
    resume=True, callbacks=[say], checkpoint_seconds=0.02)
"""


def test_a_run_killed_at_a_random_moment_ends_in_the_same_bits(tmp_path):
    epochs = "150"

    def start(folder):
        command = [sys.executable, "-c", KILLED, str(folder), epochs]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def finish(process):
        process.communicate()
        assert process.returncode == 0

    process = start(tmp_path / "killed")
    process.stdout.readline()  # training has begun
    time.sleep(random.SystemRandom().random())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    finish(start(tmp_path / "killed"))
    finish(start(tmp_path / "whole"))
    for file in ("metrics.jsonl", "model.safetensors", "checkpoint.safetensors"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file
    assert len((tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()) == 150
    assert not list((tmp_path / "killed").glob("*.part"))


def test_rows_beyond_the_precision_are_told(data, split):
    data.x = torch.ones(200, 10)
    model = network(activation="none", dropout=0.0)
    model.hidden[0].weight.data.fill_(1.0)
    with pytest.warns(PrecisionWarning, match="double=True"):
        result = fit(model, data, split, TrainingConfig(epochs=1))
    assert result.capped_rows > 0


def test_a_run_folder_is_never_overwritten_or_mixed_up(data, split, tmp_path):
    config = TrainingConfig(epochs=3)
    fit(network(), data, split, config, folder=tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert set(before) == {"config.json", "checkpoint.safetensors", "metrics.jsonl", "model.safetensors"}
    about = json.loads(before["config.json"])
    assert about["model"] == "kappa-gcn"
    assert about["training"]["epochs"] == 3
    with pytest.raises(CheckpointError, match="holds a run already; resume it, or name another"):
        fit(network(), data, split, config, folder=tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"found training\.epochs 4 instead of 3\. Name another folder"):
        fit(network(), data, split, TrainingConfig(epochs=4), folder=tmp_path / "run", resume=True)
    with pytest.raises(CheckpointError, match=r"found options\.space H5 instead of H4"):
        fit(network("H5"), data, split, config, folder=tmp_path / "run", resume=True)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match="expected a folder for the run, found a file"):
        fit(network(), data, split, config, folder=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("damage", [b"", b"not a checkpoint", None])
def test_damaged_checkpoints_are_named(damage, data, split, tmp_path):
    config = TrainingConfig(epochs=3)
    fit(network(), data, split, config, folder=tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:200] if damage is None else damage)
    with pytest.raises(CheckpointError, match=r"checkpoint\.safetensors: expected a training state"):
        fit(network(), data, split, config, folder=tmp_path, resume=True)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="expected a finished run, found one that was interrupted"):
        load_model(tmp_path)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: .*found no such file"):
        load_model(tmp_path / "elsewhere")


def test_a_run_goes_on_only_with_its_own_data_and_nodes(data, split, tmp_path):
    """Else test nodes of one split could train in another under the same name."""
    config = TrainingConfig(epochs=3)
    fit(network(), data, split, config, folder=tmp_path)
    other = random_split(data.y, 0, test_seed=5)
    assert other.name == split.name
    with pytest.raises(CheckpointError, match=r"nodes \w+ instead of"):
        fit(network(), data, other, config, folder=tmp_path, resume=True)
    for change in ({"x": 2 * data.x}, {"edge_index": data.edge_index[:, 2:]}):
        with pytest.raises(CheckpointError, match=r"found data \w+ instead of"):
            fit(network(), data.clone().update(change), split, config, folder=tmp_path, resume=True)
    with pytest.raises(CheckpointError, match=r"dtype torch\.float64 instead of torch\.float32"):
        fit(
            network().double(), data.clone().update({"x": data.x.double()}), split, config, folder=tmp_path, resume=True
        )


INTERRUPTED = KILLED.replace("checkpoint_seconds=0.02", "checkpoint_seconds=1000")


def test_ctrl_c_saves_the_last_whole_epoch(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "run"), "100000"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    for _ in range(20):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    last = int(re.search(r"KeyboardInterrupt: after epoch (\d+), saved in", err)[1])
    assert last >= 20
    assert "resume=True goes on from there" in err
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == last


def test_garbage_in_the_metrics_is_named(data, split, tmp_path):
    fit(network(), data, split, TrainingConfig(epochs=3), folder=tmp_path)
    (tmp_path / "metrics.jsonl").write_text("{}\nnot json\n{}\n")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: expected one record per line"):
        fit(network(), data, split, TrainingConfig(epochs=3), folder=tmp_path, resume=True)


def test_files_of_a_run_have_the_usual_mode(data, split, tmp_path):
    fit(network(), data, split, TrainingConfig(epochs=1), folder=tmp_path)
    (tmp_path / "plain").write_text("")
    assert {path.stat().st_mode for path in tmp_path.iterdir()} == {(tmp_path / "plain").stat().st_mode}
