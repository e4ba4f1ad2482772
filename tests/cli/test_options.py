import json
import sys
from pathlib import Path

import pytest

from command_runs import message_of, run
from kappagcn.cli.options import RunOptions
from kappagcn.cli.output import messages
from kappagcn.graphs import assemble


def test_settings_come_from_a_file_and_flags_win(tmp_path):
    shown = run("classify", "disease", "--space", "H4", "--epochs", "7", "--dry-run").stdout
    assert "dropout = 0.0" in shown, "auto is resolved"
    (tmp_path / "run.toml").write_text(shown)
    again = run("classify", "--config", str(tmp_path / "run.toml"), "--dry-run")
    assert again.stdout == shown
    other = json.loads(
        run("classify", "--config", str(tmp_path / "run.toml"), "--space", "S3", "--dry-run", "--json").stdout
    )
    assert (other["space"], other["epochs"], other["graph"]) == ("S3", 7, "disease")
    assert not Path("runs").exists()


def test_attributes_of_markup_are_named_on_the_command_line(tmp_path):
    (tmp_path / "g.gml").write_text("graph [ node [ id 0 v 1 ] node [ id 1 v 2 ] edge [ source 0 target 1 ] ]")
    printed = json.loads(run("info", str(tmp_path / "g.gml"), "--features", "v", "--json").stdout)
    assert printed["features"] == 1


def test_a_process_of_torchrun_takes_part_and_resumes_after_a_restart(monkeypatch):
    assert not RunOptions().distributed
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert RunOptions().distributed
    assert not RunOptions().resume
    assert messages.quiet, "rank 0 alone prints"
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert RunOptions().resume
    monkeypatch.setattr(messages, "quiet", False)


@pytest.mark.parametrize("command", ["embed", "classify", "link"])
def test_a_command_assembles_the_graph_of_a_file_once(command, tmp_path, monkeypatch):
    (tmp_path / "ring.csv").write_text("".join(f"{i},{(i + 1) % 40}\n" for i in range(40)))
    (tmp_path / "ring.labels.csv").write_text("".join(f"{i},{'ab'[i % 2]}\n" for i in range(40)))
    calls = []

    def counting(*arguments, **options):
        calls.append(1)
        return assemble(*arguments, **options)

    before = run(command, tmp_path / "ring.csv", "--epochs", "30", "--out", tmp_path / "before")  # imports all modules
    assert before.exit_code == 0, before.output
    for name, module in list(sys.modules.items()):
        if name.startswith("kappagcn") and vars(module).get("assemble") is assemble:
            monkeypatch.setattr(module, "assemble", counting)
    result = run(command, tmp_path / "ring.csv", "--epochs", "30", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("embed karate --set lr=5", "lr: expected auto for points on all pairs"),
        ("embed karate --set curvature-lr=0.5", "curvature_lr: expected auto, or 0 to keep them,"),
        ("embed karate --set lr=5 --dry-run", "lr: expected auto for points on all pairs"),
        ("embed karate --set act=relu", "act: expected its default none with method free"),
        ("classify disease --model gcn --set alpha=0.9", "alpha: expected its default 0.1 with model gcn"),
        ("classify disease --set num-neighbors=5", "num_neighbors: expected its default 10 with no batch_size"),
        ("classify disease --set device=mps", "device: expected a device of this machine"),
        ("classify disease --splits 2 --split a.json --split b.json", "--splits: expected 1 beside --split"),
        ("link karate --model free --set dropout=0.2", "dropout: expected its default 0.0 with model free"),
        ("link karate --edge-split a.csv --test 0.5", "--test: expected no share of edges beside --edge-split"),
        ("link karate --set timeout=5", "--timeout: expected torchrun beside it"),
        ("embed karate --add old --space H3", "--add: expected the settings of old alone, found --space"),
    ],
)
def test_options_without_an_effect_are_refused_and_leave_no_folder(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in message_of(run(*arguments.split()))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("link karate --set inputs=features", "inputs: expected a graph with features"),
        ("classify karate --split empty.json", "empty: expected nodes to train on, found none"),
        ("classify edges.csv", "expected a graph with labels to learn from, found none"),
        ("classify karate --model gnn", "model: expected kappa-gcn, appnp, gcn, hgcn, mlp, found 'gnn'"),
        ("embed edges.csv --space Q3", "found 'Q' in 'Q3'"),
        ("embed nosuch.csv", "expected a file, found nothing at 'nosuch.csv'"),
    ],
)
def test_a_run_that_the_graph_does_not_allow_leaves_no_folder(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.json").write_text('{"train": [], "validation": [1], "test": [2]}')
    (tmp_path / "edges.csv").write_text("a,b\nb,c\n")
    assert words in message_of(run(*arguments.split()))
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_shows_settings_with_an_effect_also_beside_files(tmp_path):
    parts = {"train": [0, 1, 2, 3], "validation": [4, 5], "test": [6, 7]}
    (tmp_path / "mine.json").write_text(json.dumps(parts))
    shown = run("classify", "karate", "--model", "gcn", "--split", tmp_path / "mine.json", "--dry-run").stdout
    assert "alpha" not in shown, "gcn does not use it"
    (tmp_path / "run.toml").write_text(shown)
    assert run("classify", "--config", tmp_path / "run.toml", "--dry-run").stdout == shown
    assert str(tmp_path / "mine.json") in shown
    for option in (["--set", f"csv={tmp_path}/points.csv"], ["--export", tmp_path / "points.csv"]):
        assert run("embed", "karate", *option, "--dry-run").exit_code == 0


@pytest.mark.parametrize("command", ["classify", "link"])
def test_every_seed_serves_several_splits(command, tmp_path):
    options = ["--seed", 2**32 - 1, "--splits", 2, "--epochs", 1, "--out", tmp_path / "run"]
    result = run(command, "karate", *options, *(["--set", "no-baselines=true"] if command == "classify" else []))
    assert result.exit_code == 0, result.output
