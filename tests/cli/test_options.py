import json
from pathlib import Path

from command_runs import message_of, run


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
