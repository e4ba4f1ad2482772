"""Checkpoints in a run folder: damaged ones are named."""

import contextlib
import json

import pytest

from kappagcn.classification.evaluation import run_record
from kappagcn.classification.fitting import fit
from kappagcn.errors import CheckpointError
from kappagcn.training.checkpoint import load_model
from kappagcn.training.settings import TrainingSettings
from small_networks import network, same


@pytest.mark.parametrize("damage", [b"", b"not a checkpoint", None])
def test_damaged_checkpoints_are_named(damage, data, split, tmp_path):
    config = TrainingSettings(epochs=3)
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


@pytest.mark.parametrize("damage", ["last lines", "half a line", "garbage", "the file", "twice"])
def test_a_run_is_resumed_whatever_happened_to_its_metrics(damage, data, split, tmp_path):
    config = TrainingSettings(epochs=12)
    whole = fit(one := network(), data, split, config, folder=tmp_path / "whole")

    def stop(record):
        if record["epoch"] == 8:
            raise InterruptedError

    folder, path = tmp_path / "run", tmp_path / "run" / "metrics.jsonl"
    with pytest.raises(InterruptedError):
        fit(network(), data, split, config, folder=folder, callbacks=[stop], checkpoint_seconds=0)
    lines = path.read_text().splitlines(keepends=True)
    content = {
        "last lines": lines[:-3], "half a line": [*lines[:-1], lines[-1][:20]], "garbage": ["{}\n", "not json\n"],
        "the file": [], "twice": [*lines, *lines],
    }[damage]  # fmt: skip
    path.write_text("".join(content))
    if damage == "the file":
        path.unlink()
    gap = contextlib.nullcontext() if damage == "twice" else pytest.warns(UserWarning, match="curves .* have a gap")
    with gap:
        resumed = fit(other := network(seed=5), data, split, config, folder=folder, resume=True)
    same(dict(other.state_dict()), dict(one.state_dict()))
    assert (resumed.epochs, resumed.best) == (whole.epochs, whole.best)
    assert run_record(resumed).keys() == run_record(whole).keys()
    assert [each["epoch"] for each in resumed.history][-5:] == [8, 9, 10, 11, 12][-len(resumed.history) :]
    assert path.read_text() == "".join(json.dumps(each) + "\n" for each in resumed.history)


def test_files_of_a_run_have_the_usual_mode(data, split, tmp_path):
    fit(network(), data, split, TrainingSettings(epochs=1), folder=tmp_path)
    (tmp_path / "plain").write_text("")
    assert {path.stat().st_mode for path in tmp_path.iterdir()} == {(tmp_path / "plain").stat().st_mode}


def test_a_run_folder_is_never_overwritten_or_mixed_up(data, split, tmp_path):
    config = TrainingSettings(epochs=3)
    fit(network(), data, split, config, folder=tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert set(before) == {"config.json", "checkpoint.safetensors", "metrics.jsonl", "model.safetensors"}
    about = json.loads(before["config.json"])
    assert about["model"] == "kappa-gcn"
    assert about["training"]["epochs"] == 3
    with pytest.raises(CheckpointError, match="holds a run already; resume it, or choose another"):
        fit(network(), data, split, config, folder=tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"found training\.epochs 4 instead of 3\. Choose another folder"):
        fit(network(), data, split, TrainingSettings(epochs=4), folder=tmp_path / "run", resume=True)
    with pytest.raises(CheckpointError, match=r"found options\.space H5 instead of H4"):
        fit(network("H5"), data, split, config, folder=tmp_path / "run", resume=True)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match="expected a folder for the run, found a file"):
        fit(network(), data, split, config, folder=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
