"""Whole runs and their directories: resumed, killed, damaged."""

import json
import signal

import pytest
import torch

import training_worker
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
from workers import Worker


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


@pytest.mark.parametrize("moment", [{"epoch": 1}, {"epoch": 37}, {"write": 2}, {"write": 9}], ids=str)
def test_a_killed_run_ends_in_the_same_bits(tmp_path, moment):
    killed = Worker(training_worker.be_killed, tmp_path / "killed", 60, moment)
    assert killed.ended()[2] == -signal.SIGKILL
    assert not (tmp_path / "killed" / "model.safetensors").exists()
    for name in ("killed", "whole"):
        training_worker.train(tmp_path / name, 60)
    for file in ("metrics.jsonl", "model.safetensors", "checkpoint.safetensors"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file
    assert len((tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()) == 60
    assert not list((tmp_path / "killed").glob("*.part"))


def test_rows_beyond_the_precision_are_told(data, split):
    data.x = torch.ones(200, 10)
    model = network(act="none", dropout=0.0)
    model.hidden[0].weight.data.fill_(1.0)
    with pytest.warns(PrecisionWarning, match="scale the features"):
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


def test_ctrl_c_saves_the_last_whole_epoch(tmp_path):
    def interrupt(record):
        if record["epoch"] == 20:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"after epoch 20, saved in .*; resume=True goes on from there"):
        training_worker.train(tmp_path / "run", 100_000, [interrupt], checkpoint_seconds=1000)
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 20


def test_garbage_in_the_metrics_is_named(data, split, tmp_path):
    fit(network(), data, split, TrainingConfig(epochs=3), folder=tmp_path)
    (tmp_path / "metrics.jsonl").write_text("{}\nnot json\n{}\n")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: expected one record per line"):
        fit(network(), data, split, TrainingConfig(epochs=3), folder=tmp_path, resume=True)


def test_files_of_a_run_have_the_usual_mode(data, split, tmp_path):
    fit(network(), data, split, TrainingConfig(epochs=1), folder=tmp_path)
    (tmp_path / "plain").write_text("")
    assert {path.stat().st_mode for path in tmp_path.iterdir()} == {(tmp_path / "plain").stat().st_mode}
