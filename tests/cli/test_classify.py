import json
import shutil

import pytest

from command_runs import message_of, run


def test_an_interrupted_classification_goes_on_to_the_same_numbers(tmp_path):
    arguments = ["classify", "disease", "--space", "H4", "--splits", "2", "--epochs", "15", "--json", "--threads", "1"]
    whole = json.loads(run(*arguments, "--out", str(tmp_path / "whole")).stdout)
    assert run(*arguments, "--out", str(tmp_path / "cut")).exit_code == 0
    for name in ("summary.json", "embedding.npz"):
        (tmp_path / "cut" / name).unlink()
    shutil.rmtree(tmp_path / "cut" / "runs" / "split1-run0")
    resumed = json.loads(run(*arguments, "--out", str(tmp_path / "cut"), "--resume").stdout)
    for told in (whole, resumed):
        told.pop("run"), told.pop("seconds")
        for each in told["records"]:
            each.pop("seconds"), each.pop("epoch_milliseconds")
    assert resumed == whole


BROKEN = [("record.json", b"{}"), ("metrics.jsonl", b"\xff\xfe"), ("record.json", b"[")]


@pytest.mark.parametrize(("name", "content"), BROKEN)
def test_a_broken_part_of_a_classification_is_named_when_it_is_taken_up(runs, tmp_path, name, content):
    shutil.copytree(runs / "classes", tmp_path / "run")
    (tmp_path / "run" / "runs" / "split0-run0" / name).write_bytes(content)
    command = ["classify", "disease", "--space", "H4", "--epochs", "3", "--resume", "--out", tmp_path / "run"]
    assert f"{name}: expected" in message_of(run(*command))
