"""Wrong uses end in one clear line with code 2 or 1, without a traceback, and cost nobody a run."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kappagcn.cli import app
from kappagcn.training import Trainer


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def message_of(result, code=2):
    """The one line; whatever was said of a graph before it aside."""
    lines = [line for line in result.stderr.strip().splitlines() if line.startswith("kappagcn: ")]
    assert result.exit_code == code, result.output
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return lines[0]


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """An embedding and a classification, made once; tests copy what they break."""
    folder = tmp_path_factory.mktemp("runs")
    assert run("embed", "karate", "--space", "H2", "--epochs", "3", "--out", folder / "embedding").exit_code == 0
    made = run("classify", "disease", "--space", "H4", "--epochs", "3", "--out", folder / "classes")
    assert made.exit_code == 0, made.output
    assert run("classify", "karate", "--space", "H2", "--epochs", "2", "--out", folder / "bare").exit_code == 0
    return folder


@pytest.fixture
def files(tmp_path):
    """Things that are not what they should be."""
    (tmp_path / "edges.csv").write_text("a,b\nb,c\nc,a\nc,d\nd,e\ne,a\n")
    (tmp_path / "labels.csv").write_text("a,x\nb,y\nc,x\nd,y\ne,x\n")
    (tmp_path / "features.csv").write_text("a,1\nb,2\nc,3\nd,4\ne,5\n")
    (tmp_path / "words.csv").write_text("a,one\nb,two\nc,three\nd,four\ne,five\n")
    (tmp_path / "one_class.csv").write_text("a,x\nb,x\nc,x\nd,x\ne,x\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 4)
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 this is no archive")
    (tmp_path / "broken.graphml").write_text("<graphml><node id=")
    (tmp_path / "bad.toml").write_text("epochs = = 3")
    (tmp_path / "unknown.toml").write_text('epoch = 3\ngraph = "karate"')
    (tmp_path / "list.toml").write_text("epochs = [1, 2]")
    (tmp_path / "negative.toml").write_text("epochs = -3")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").write_text("mine")
    return tmp_path


WRONG = [
    # names and arguments
    ("emded karate", "No such command 'emded'. Did you mean 'embed'?"),
    ("embed", "Missing argument"),
    ("embed karate tree", "unexpected extra argument"),
    ("embed karte", "found 'karte'. Did you mean karate"),
    ("embed karate --spaces H2", "No such option: --spaces"),
    ("embed karate --space", "requires an argument"),
    ("info nothing.csv", "expected a file, found nothing at 'nothing.csv'"),
    ("data fetch kora", "found 'kora'"),
    ("data path tree", "which is generated"),
    # spaces
    ("embed karate --space Q5", "found 'Q' in 'Q5'"),
    ("embed karate --space H", "expected a letter and a dimension"),
    ("embed karate --space H0", "expected dimension and power of at least 1"),
    ("embed karate --space H2(3)", "expected a curvature below 0 for H"),
    ("classify disease --space H8xx", "expected a letter and a dimension"),
    # numbers
    ("embed karate --epochs -5", "Invalid value for '--epochs'"),
    ("embed karate --epochs many", "Invalid value for '--epochs'"),
    ("embed karate --seed -1", "Invalid value for '--seed'"),
    ("embed karate --lr fast", "--lr: expected a number or auto, found 'fast'"),
    ("embed karate --lr -1", "lr: expected"),
    ("embed karate --lr nan", "lr: expected"),
    ("embed karate --sources -3", "sources: expected"),
    ("embed karate --hidden-channels 0", "Invalid value for '--hidden-channels'"),
    ("embed karate --method magic", "Invalid value for '--method'"),
    ("embed karate --method kappa-gcn --act swish --epochs 1 --out {dir}/o", "Invalid value for '--act'"),
    ("classify disease --dropout 1.5", "dropout: expected a number in [0, 1)"),
    ("classify disease --splits 0", "Invalid value for '--splits'"),
    ("classify disease --splits 99", "Invalid value for '--splits'"),
    ("classify disease --feature-scale -1", "feature_scale: expected a number in (0, inf)"),
    ("classify disease --feature-norm maybe", "Invalid value for '--feature-norm'"),
    ("embed karate --threads 0", "Invalid value for '--threads'"),
    ("classify disease --batch-size 0", "Invalid value for '--batch-size'"),
    ("classify disease --num-neighbors many", "--num-neighbors: expected a number"),
    ("classify disease --batch-size 9 --num-neighbors 10,5,5", "num_neighbors: expected 2 numbers"),
    ("classify disease --distributed", "expected to be one of several processes"),
    ("embed karate --distributed", "expected to be one of several processes"),
    ("embed karate --distributed --timeout 0", "Invalid value for '--timeout'"),
    # files
    ("embed {dir}/folder", "expected a file, found a folder"),
    ("embed {dir}/folder.csv", "expected a file, found a folder"),
    ("embed {dir}/file", "no ending"),
    ("embed {dir}/empty.csv", "empty.csv"),
    ("embed {dir}/binary.csv", "binary.csv"),
    ("embed {dir}/broken.npz", "broken.npz"),
    ("info {dir}/broken.graphml", "broken.graphml"),
    ("embed {dir}/edges.csv --features {dir}/nothing.csv", "nothing.csv"),
    ("classify {dir}/edges.csv --labels {dir}/labels.csv --features {dir}/words.csv", "words.csv"),
    # labels and features
    ("classify small_tree", "small_tree: expected a graph with labels, found none"),
    ("classify {dir}/edges.csv --features {dir}/features.csv", "expected a graph with labels to learn from"),
    ("classify {dir}/edges.csv --labels {dir}/one_class.csv --out {dir}/o", "expected at least two classes"),
    ("classify karate --labels {dir}/labels.csv", "only beside a file"),
    ("embed karate --features {dir}/features.csv", "only beside a file"),
    # output
    ("embed karate --epochs 1 --out {dir}/file", "expected a folder for the run, found a file"),
    ("embed karate --epochs 1 --out {dir}/file/inner", "expected a folder"),
    ("classify disease --epochs 1 --out {dir}/file", "expected a folder for the run, found a file"),
    ("demo --out {dir}/file", "expected a folder that can be written"),
    ("info karate --out {dir}/file", "expected a folder that can be written"),
    ("plot {runs}/embedding --out {dir}/file", "expected a folder that can be written"),
    ("report {runs}/embedding --out {dir}/file", "expected a folder that can be written"),
    ("predict {runs}/classes --out {dir}/file", "expected a folder that can be written"),
    ("embed karate --space H2 --epochs 3 --out {runs}/embedding", "holds a run already"),
    ("embed karate --space H3 --epochs 3 --resume --out {runs}/embedding", "options.space H3 instead of H2"),
    ("embed tree --space H2 --epochs 3 --resume --out {runs}/embedding", "expected to resume with the settings"),
    ("classify disease --space S4 --epochs 3 --resume --out {runs}/classes", "classifier.space S4 instead of H4"),
    # runs
    ("plot {dir}/nowhere", "expected the folder of a run, found no folder"),
    ("report {dir}/file", "expected the folder of a run, found a file"),
    ("predict {dir}/folder", "found no config.json"),
    ("predict {runs}/embedding", "expected a run of kappagcn classify"),
    ("predict {runs}/classes karate", "expected 10 features, as in fit, found none"),
    ("predict {runs}/bare karate", "expected a run with features to predict for a graph"),
    ("predict {runs}/classes --labels {dir}/labels.csv", "only beside a graph"),
    ("plot {runs}/embedding --theme pink", "Invalid value for '--theme'"),
    ("plot {runs}/embedding --format gif", "Invalid value for '--format'"),
    # settings in files
    ("embed karate --config {dir}/nothing.toml", "expected a TOML file"),
    ("embed karate --config {dir}/folder", "expected a TOML file"),
    ("embed karate --config {dir}/bad.toml", "expected TOML"),
    ("embed --config {dir}/unknown.toml", "found 'epoch'"),
    ("embed karate --config {dir}/list.toml", "epochs: expected a word or a number"),
    ("embed karate --config {dir}/negative.toml", "Invalid value for '--epochs'"),
    # tables and figures
    ("reproduce table9", "Invalid value for"),
    ("reproduce figures moon --out {dir}/r", "figures: expected trees"),
    ("reproduce figures sweep --out {dir}/r", "kappagcn reproduce sweep"),
    ("reproduce table1 mars --out {dir}/r", "found 'mars'"),
    ("reproduce table1 --splits 3 --out {dir}/r", "expected no splits"),
]


@pytest.mark.parametrize(("command", "words"), WRONG, ids=[command for command, _ in WRONG])
def test_wrong_use_ends_in_one_line(files, runs, command, words):
    before = contents(runs)
    assert words in message_of(run(*command.format(dir=files, runs=runs).split()))
    assert contents(runs) == before, "no run was touched"
    assert (files / "file").read_text() == "mine"
    assert not (files / "o" / "summary.json").exists()


def test_there_are_at_least_forty():
    assert len({words for _, words in WRONG}) >= 40


@pytest.mark.parametrize("name", ["config.json", "summary.json", "metrics.jsonl", "embedding.npz"])
@pytest.mark.parametrize("broken", [b"", b"{", b"[1, 2]\n", b"PK\x03\x04"])
@pytest.mark.parametrize("kind", ["embedding", "classes"])
def test_a_run_with_a_broken_file_is_refused_by_name(runs, tmp_path, name, broken, kind):
    shutil.copytree(runs / kind, tmp_path / "run")
    (tmp_path / "run" / name).write_bytes(broken)
    result = run("report", tmp_path / "run", "--out", tmp_path / "out")
    if name == "config.json" or (name == "metrics.jsonl" and broken == b""):
        return  # the report needs neither what was asked nor, where there are none, epochs
    assert f"{name}: expected" in message_of(result)
    assert not (tmp_path / "out" / "report.html").exists()


def test_points_that_do_not_fit_their_edges_are_refused(runs, tmp_path):
    shutil.copytree(runs / "embedding", tmp_path / "run")
    path = tmp_path / "run" / "embedding.npz"
    with np.load(path) as file:
        arrays = dict(file)
    arrays["edges"] = arrays["edges"] + 1000
    np.savez(path, **arrays)
    assert "edges that do not belong to the points" in message_of(run("plot", tmp_path / "run"))


def test_an_interrupted_run_is_named_as_such(runs, tmp_path):
    shutil.copytree(runs / "embedding", tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    assert "expected a finished run, found one that was interrupted" in message_of(run("report", tmp_path / "run"))


BROKEN = [("record.json", b"{}"), ("metrics.jsonl", b"\xff\xfe"), ("record.json", b"[")]


@pytest.mark.parametrize(("name", "content"), BROKEN)
def test_a_broken_part_of_a_classification_is_named_when_it_is_taken_up(runs, tmp_path, name, content):
    shutil.copytree(runs / "classes", tmp_path / "run")
    (tmp_path / "run" / "runs" / "split0-run0" / name).write_bytes(content)
    command = ["classify", "disease", "--space", "H4", "--epochs", "3", "--resume", "--out", tmp_path / "run"]
    assert f"{name}: expected" in message_of(run(*command))


@pytest.mark.parametrize("name", ["summary.json", "metrics.jsonl", "embedding.npz", "model.safetensors"])
@pytest.mark.parametrize("command", ["embed karate --space H2", "classify disease --space H4"])
def test_files_of_others_are_not_overwritten(tmp_path, name, command):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("mine")
    result = run(*command.split(), "--epochs", "1", "--resume", "--out", tmp_path / "run")
    assert f"found {name} alone" in message_of(result)
    assert contents(tmp_path / "run") == {Path(name): b"mine"}


def test_pictures_without_matplotlib_are_refused(runs, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "kappagcn.figures"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'kappagcn[figures]'" in message_of(run("plot", runs / "embedding"))


def test_several_workers_without_saying_so_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    result = run("classify", "disease", "--epochs", "1", "--out", tmp_path / "run")
    assert "expected --distributed for several processes" in message_of(result)
    assert not (tmp_path / "run").exists()


def test_weights_of_another_network_are_refused(runs, tmp_path):
    shutil.copytree(runs / "classes", tmp_path / "run")
    shutil.copy(runs / "embedding" / "model.safetensors", tmp_path / "run")
    assert "expected a classifier of this version" in message_of(run("predict", tmp_path / "run", "disease"))


@pytest.mark.parametrize("writes", range(6))
def test_a_full_disk_leaves_whole_files_and_a_run_to_resume(tmp_path, monkeypatch, writes):
    command = ["embed", "karate", "--space", "H2", "--epochs", "3", "--out", tmp_path / "run"]
    left = [writes]

    def fsync(file):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr("kappagcn.io_atomic.os.fsync", fsync)
        result = run(*command)
    if result.exit_code == 0:
        assert left[0] >= 0, "a write failed unnoticed"
        return
    assert "No space left on device" in message_of(result, result.exit_code)
    assert not list((tmp_path / "run").glob("*.part"))
    assert run(*command, "--resume").exit_code == 0
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["epochs"] == 3


@pytest.mark.parametrize(
    "command", ["embed small_tree --space H2 --epochs 40", "classify disease --splits 2 --epochs 40"]
)
def test_ctrl_c_leaves_a_run_that_goes_on(tmp_path, command, monkeypatch):
    run_epoch = Trainer.run_epoch

    def interrupted(trainer):
        if trainer.epoch == 9:
            signal.raise_signal(signal.SIGINT)
        return run_epoch(trainer)

    with monkeypatch.context() as keyboard:
        keyboard.setattr(Trainer, "run_epoch", interrupted)
        last = message_of(run(*command.split(), "--out", tmp_path / "run"), 1)
    assert last.startswith("kappagcn: stopped after epoch 10, saved in")
    assert "--resume goes on from there" in last
    assert "interrupted" in message_of(run("report", tmp_path / "run"))
    other = [*command.split(), "--out", tmp_path / "run", "--resume", "--seed", "1"]
    assert "expected to resume with the settings" in message_of(run(*other))
    assert run(*command.split(), "--out", tmp_path / "run", "--resume").exit_code == 0


def test_a_reader_that_leaves_early_gets_no_traceback():
    command = f"{sys.executable} -m kappagcn data list | head -1"
    found = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "name" in found.stdout
    assert "Traceback" not in found.stderr
    assert "BrokenPipe" not in found.stderr
