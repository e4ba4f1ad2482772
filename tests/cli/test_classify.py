import json
import shutil

import pytest

from command_runs import message_of, run


def test_an_interrupted_classification_resumes_to_the_same_numbers(tmp_path):
    arguments = ["classify", "disease", "--space", "H4", "--splits", "2", "--epochs", "15", "--json", "--threads", "1"]
    whole = json.loads(run(*arguments, "--out", str(tmp_path / "whole")).stdout)
    assert run(*arguments, "--out", str(tmp_path / "cut")).exit_code == 0
    for name in ("summary.json", "embedding.npz"):
        (tmp_path / "cut" / name).unlink()
    shutil.rmtree(tmp_path / "cut" / "runs" / "split1-run0")
    resumed = json.loads(run(*arguments, "--out", str(tmp_path / "cut"), "--resume").stdout)
    for output in (whole, resumed):
        output.pop("run"), output.pop("seconds")
        for each in output["records"]:
            each.pop("seconds"), each.pop("epoch_milliseconds")
    assert resumed == whole


BROKEN = [("record.json", b"{}"), ("metrics.jsonl", b"\xff\xfe"), ("record.json", b"[")]


@pytest.mark.parametrize(("name", "content"), BROKEN)
def test_a_broken_part_of_a_classification_is_named_when_it_is_taken_up(runs, tmp_path, name, content):
    shutil.copytree(runs / "classes", tmp_path / "run")
    (tmp_path / "run" / "runs" / "split0-run0" / name).write_bytes(content)
    command = ["classify", "disease", "--space", "H4", "--epochs", "3", "--resume", "--out", tmp_path / "run"]
    assert f"{name}: expected" in message_of(run(*command))


def test_the_accuracy_stands_beside_baselines_and_a_verdict(tmp_path):
    command = ["classify", "disease", "--space", "H4", "--epochs", "5", "--out", tmp_path / "run"]
    shown = run(*command).stdout
    for words in ("test accuracy", "balanced accuracy", "AUC", "baseline majority", "baseline gcn", "verdict"):
        assert words in shown
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert set(summary["baselines"]) == {"majority", "features", "gcn"}
    assert summary["verdict"]
    alone = json.loads(run(*command[:-1], tmp_path / "alone", "--no-baselines", "--json").stdout)
    assert alone["baselines"] == {}
    assert alone["verdict"] is None
    assert not (tmp_path / "alone" / "baselines.json").exists()


def test_own_splits_and_another_network(tmp_path):
    parts = {"train": list(range(100)), "validation": list(range(100, 150)), "test": list(range(150, 200))}
    (tmp_path / "mine.json").write_text(json.dumps(parts))
    command = ["classify", "disease", "--space", "H4", "--model", "appnp", "--epochs", "3", "--no-baselines", "--json"]
    split = ["--split", tmp_path / "mine.json", "--out", tmp_path / "run"]
    summary = json.loads(run(*command, *split).stdout)
    assert (summary["model"], summary["test_nodes"], summary["records"][0]["split_name"]) == ("appnp", 50, "mine")
