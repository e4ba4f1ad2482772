import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from command_runs import contents, message_of, run
from kappagcn import __version__
from kappagcn.cli import app


def test_version_and_help():
    assert run("--version").stdout.strip() == f"kappagcn {__version__}"
    assert "demo" in run("--help").stdout


def test_module_runs_like_the_command():
    result = subprocess.run([sys.executable, "-m", "kappagcn", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == f"kappagcn {__version__}"


LOADED = """
import importlib.abc, os, sys

class Watch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torch":
            print("loaded with", os.environ.get("OMP_WAIT_POLICY"))
            sys.exit()

sys.meta_path.insert(0, Watch())
from kappagcn.cli import app
print("imported with", os.environ.get("OMP_WAIT_POLICY"))
app(["info", "karate"])
"""


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_a_command_loads_torch_with_threads_that_sleep_unless_the_environment_says_otherwise(given, expected):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    if given is not None:
        environment["OMP_WAIT_POLICY"] = given
    done = subprocess.run([sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[:2] == [f"imported with {given}", f"loaded with {expected}"]


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
    ("data path kora", "found 'kora'"),
    ("data path tree", "which is generated"),
    # spaces
    ("embed karate --space Q5", "found 'Q' in 'Q5'"),
    ("embed karate --space H", "expected a letter and a dimension"),
    ("embed karate --space H0", "expected dimension and power of at least 1"),
    ("embed karate --space H2(3)", "expected a curvature below 0 for H"),
    ("classify disease --space H8xx", "expected a letter and a dimension"),
    # numbers
    ("embed karate --epochs -5", 'epochs: expected a whole number in [1, inf) or "auto", found -5'),
    ("embed karate --epochs many", "--epochs: expected a whole number or auto, found 'many'"),
    ("embed karate --seed -1", "random_state: expected a whole number in [0, 4294967296)"),
    ("embed karate --set lr=fast", "--lr: expected a number or auto, found 'fast'"),
    ("embed karate --set lr=-1", "lr: expected"),
    ("embed karate --set lr=nan", "lr: expected"),
    ("embed karate --set sources=-3", "sources: expected"),
    ("embed karate --set hidden-channels=0", "hidden_channels: expected a whole number in"),
    ("embed karate --method magic", "method: expected free, kappa-gcn, found 'magic'"),
    (
        "embed karate --method kappa-gcn --set act=swish --epochs 1 --out {dir}/o",
        "act: expected none, relu, tanh, elu, found 'swish'",
    ),
    ("classify disease --set dropout=1.5", "dropout: expected a number in [0, 1)"),
    ("classify disease --splits 0", "Invalid value for '--splits'"),
    ("classify disease --splits 99", "Invalid value for '--splits'"),
    ("classify disease --set feature-scale=-1", "feature_scale: expected a number in (0, inf)"),
    (
        "classify disease --set feature-norm=maybe",
        "feature_norm: expected auto, rows, lengths, columns, none, found",
    ),
    ("embed karate --set threads=0", "Invalid value for '--threads'"),
    ("classify disease --set batch-size=0", "batch_size: expected a whole number in [1, inf), found 0"),
    ("classify disease --set num-neighbors=many", "--num-neighbors: expected a number"),
    ("classify disease --set batch-size=9 --set num-neighbors=10,5,5", "num_neighbors: expected 2 numbers"),
    ("classify disease --distributed", "expected to be one of several processes"),
    ("embed karate --distributed", "expected to be one of several processes"),
    ("embed karate --distributed --set timeout=0", "Invalid value for '--timeout'"),
    # files
    ("embed {dir}/folder", "expected a file, found a folder"),
    ("embed {dir}/folder.csv", "expected a file, found a folder"),
    ("embed {dir}/file", "no ending"),
    ("embed {dir}/empty.csv", "empty.csv"),
    ("embed {dir}/binary.csv", "binary.csv"),
    ("embed {dir}/broken.npz", "broken.npz"),
    ("info {dir}/broken.graphml", "broken.graphml"),
    ("embed {dir}/edges.csv --set features={dir}/nothing.csv", "nothing.csv"),
    ("classify {dir}/edges.csv --labels {dir}/labels.csv --features {dir}/words.csv", "words.csv"),
    # labels and features
    ("classify small_tree", "small_tree: expected a graph with labels, found none"),
    ("classify {dir}/edges.csv --features {dir}/features.csv", "expected a graph with labels to learn from"),
    ("classify {dir}/edges.csv --labels {dir}/one_class.csv --out {dir}/o", "expected at least two classes"),
    ("classify karate --labels {dir}/labels.csv", "only beside a file"),
    ("embed karate --set features={dir}/features.csv", "only beside a file"),
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
    ("embed karate --config {dir}/negative.toml", 'epochs: expected a whole number in [1, inf) or "auto", found -3'),
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
    assert words in message_of(run(*(word.format(dir=files, runs=runs) for word in command.split())))
    assert contents(runs) == before, "no run was touched"
    assert (files / "file").read_text() == "mine"
    assert not (files / "o" / "summary.json").exists()


@pytest.mark.parametrize("charset", ["ascii", "latin-1"])
def test_a_locale_without_greek_letters_gets_escape_sequences(charset):
    result = CliRunner(charset=charset).invoke(app, ["info", "karate"])
    assert result.exit_code == 0, result.exception
    assert r"\u03b4 = 1" in result.stdout
