import json
import shutil

import pytest

from command_runs import message_of, run


def test_an_interrupted_classification_resumes_to_the_same_numbers(tmp_path):
    options = ["--space", "H4", "--splits", "2", "--epochs", "15", "--json", "--set", "threads=1"]
    arguments = ["classify", "disease", *options]
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


@pytest.mark.parametrize("content", [b"{}", b"["])
def test_a_broken_record_of_a_classification_is_named_when_it_is_resumed(runs, tmp_path, content):
    shutil.copytree(runs / "classes", tmp_path / "run")
    (tmp_path / "run" / "runs" / "split0-run0" / "record.json").write_bytes(content)
    command = ["classify", "disease", "--space", "H4", "--epochs", "3", "--resume", "--out", tmp_path / "run"]
    assert "record.json: expected" in message_of(run(*command))


def test_the_accuracy_stands_beside_baselines_and_a_verdict(tmp_path):
    command = ["classify", "disease", "--space", "H4", "--epochs", "5", "--out", tmp_path / "run"]
    shown = run(*command).stdout
    for words in ("test accuracy", "balanced accuracy", "AUC", "baseline majority", "baseline gcn", "verdict"):
        assert words in shown
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert set(summary["baselines"]) == set(summary["differences"]) == {"majority", "propagation", "features", "gcn"}
    assert "95 % interval" in shown
    assert "this run less it" in shown
    assert summary["interval_covers"] == "the draw of the test nodes, not splits or seeds"
    assert summary["verdict"]
    alone = json.loads(run(*command[:-1], tmp_path / "alone", "--set", "no-baselines=true", "--json").stdout)
    assert alone["baselines"] == {}
    assert alone["verdict"] is None
    assert not (tmp_path / "alone" / "baselines.json").exists()


def test_own_splits_and_another_network(tmp_path):
    parts = {"train": list(range(100)), "validation": list(range(100, 150)), "test": list(range(150, 200))}
    (tmp_path / "mine.json").write_text(json.dumps(parts))
    options = ["--space", "H4", "--model", "appnp", "--epochs", "3", "--set", "no-baselines=true", "--json"]
    command = ["classify", "disease", *options]
    split = ["--split", tmp_path / "mine.json", "--out", tmp_path / "run"]
    summary = json.loads(run(*command, *split).stdout)
    assert (summary["model"], summary["test_nodes"], summary["records"][0]["split_name"]) == ("appnp", 50, "mine")


def test_edge_weights_are_used_or_not_as_the_command_line_says(tmp_path):
    edges = [f"{a},{b},{1 + 999 * (a % 2)}" for a in range(40) for b in (a + 1, a + 2) if b < 40]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target,weight", *edges]))
    (tmp_path / "labels.csv").write_text("\n".join(["node,label", *(f"{a},{'uv'[a // 20]}" for a in range(40))]))
    command = [
        "classify",
        tmp_path / "edges.csv",
        "--labels",
        tmp_path / "labels.csv",
        "--epochs",
        "2",
        "--space",
        "H2",
    ]
    tried = json.loads(run(*command, "--json", "--out", tmp_path / "tried").stdout)
    assert "(the largest is " in tried["edge_weights"]
    assert "unweighted" in tried["baselines"]
    shown = run(*command, "--set", "edge-weights=none", "--out", tmp_path / "without").stdout
    assert "edge weights" in shown
    assert "baseline unweighted" not in shown
