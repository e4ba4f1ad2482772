"""Checkpoints in a run folder: damaged ones are named."""

import json

import pytest

from kappagcn.errors import CheckpointError
from kappagcn.training import (
    TrainingConfig,
    fit,
    load_model,
)
from small_networks import network


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


def test_garbage_in_the_metrics_is_named(data, split, tmp_path):
    fit(network(), data, split, TrainingConfig(epochs=3), folder=tmp_path)
    (tmp_path / "metrics.jsonl").write_text("{}\nnot json\n{}\n")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: expected one record per line"):
        fit(network(), data, split, TrainingConfig(epochs=3), folder=tmp_path, resume=True)


def test_files_of_a_run_have_the_usual_mode(data, split, tmp_path):
    fit(network(), data, split, TrainingConfig(epochs=1), folder=tmp_path)
    (tmp_path / "plain").write_text("")
    assert {path.stat().st_mode for path in tmp_path.iterdir()} == {(tmp_path / "plain").stat().st_mode}


def test_a_run_folder_is_never_overwritten_or_mixed_up(data, split, tmp_path):
    config = TrainingConfig(epochs=3)
    fit(network(), data, split, config, folder=tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert set(before) == {"config.json", "checkpoint.safetensors", "metrics.jsonl", "model.safetensors"}
    about = json.loads(before["config.json"])
    assert about["model"] == "kappa-gcn"
    assert about["training"]["epochs"] == 3
    with pytest.raises(CheckpointError, match="holds a run already; resume it, or choose another"):
        fit(network(), data, split, config, folder=tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"found training\.epochs 4 instead of 3\. Choose another folder"):
        fit(network(), data, split, TrainingConfig(epochs=4), folder=tmp_path / "run", resume=True)
    with pytest.raises(CheckpointError, match=r"found options\.space H5 instead of H4"):
        fit(network("H5"), data, split, config, folder=tmp_path / "run", resume=True)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match="expected a folder for the run, found a file"):
        fit(network(), data, split, config, folder=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
