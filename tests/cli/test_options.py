import json
import sys
from pathlib import Path

import pytest

from command_runs import message_of, run
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


def test_several_workers_without_saying_so_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    result = run("classify", "disease", "--epochs", "1", "--out", tmp_path / "run")
    assert "expected --distributed for several processes" in message_of(result)
    assert not (tmp_path / "run").exists()


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
