"""Files of a run folder: written whole, read back, never mixed up."""

import json

import numpy as np
import pytest

from kappagcn.errors import CheckpointError
from kappagcn.run_folder import Embedded, SavedRun, read_json, save_embedded, save_json, should_resume


def arrays(**more):
    v = np.arange(12.0).reshape(4, 3)
    return Embedded(v, v, np.array([2, 1]), np.array([-1.0, 0.5]), np.array([[0, 1], [1, 2]]), **more)


def test_a_run_is_read_back_as_it_was_written(tmp_path):
    save_json(tmp_path / "config.json", {"space": "H2xS1", "lr": np.float32(0.5)})
    save_json(tmp_path / "summary.json", {"graph": "κ", "distortion": 0.1})
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 1}\n{"epoch": 2}\n')
    save_embedded(tmp_path / "embedding.npz", arrays(names=np.array(["a", "b", "c", "d"])))
    run = SavedRun(tmp_path)
    assert (run.kind, run.graph, run.config["lr"]) == ("embedding", "κ", 0.5)
    assert [record["epoch"] for record in run.metrics] == [1, 2]
    assert run.embedded.factors == [(-1.0, slice(0, 2)), (0.5, slice(2, 3))]
    assert run.embedded.name(3) == "d"
    assert run.confusion() is None


def test_arrays_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match=r"labels of shape \(3,\) instead of \(4,\)"):
        arrays(labels=np.zeros(3, int))


def test_a_run_is_resumed_with_its_own_configuration_only(tmp_path):
    config = {"options": {"space": "H4"}, "epochs": 3}
    assert not should_resume(tmp_path / "new", config, resume=True)
    save_json(tmp_path / "config.json", config)
    assert should_resume(tmp_path, config, resume=True)
    with pytest.raises(CheckpointError, match="holds a run already; resume it, or choose another"):
        should_resume(tmp_path, config, resume=False)
    with pytest.raises(CheckpointError, match=r"found options\.space H5 instead of H4\. Choose another folder"):
        should_resume(tmp_path, {**config, "options": {"space": "H5"}}, resume=True)
    (tmp_path / "config.json").write_text(json.dumps([1]))
    with pytest.raises(CheckpointError, match=r"config\.json: expected the run's settings, found list"):
        should_resume(tmp_path, config, resume=True)


def test_names_of_files_that_are_not_text_are_kept(tmp_path):
    values = {"command": "kappagcn embed \udcfc.csv", "graph": "Łódź \udcc3\udcbc \udcfc"}
    for name in ("config.json", "summary.json"):
        save_json(tmp_path / name, values)
    assert read_json(tmp_path / "summary.json") == values
    assert SavedRun(tmp_path).graph == "Łódź ü \ufffd"
    assert "Łódź" in (tmp_path / "summary.json").read_text(encoding="utf-8")


def test_files_of_a_run_without_its_configuration_are_not_touched(tmp_path):
    save_json(tmp_path / "summary.json", {})
    with pytest.raises(CheckpointError, match=r"expected a run with its config\.json, .* found summary\.json alone"):
        should_resume(tmp_path, {}, resume=True)
