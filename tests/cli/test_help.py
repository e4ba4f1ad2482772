"""The help of the commands: few options, each with its type, choices and range; the rest by name for --set."""

from dataclasses import fields

import pytest
import typer

import kappagcn.cli
from command_runs import message_of, run
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.cli.app import app
from kappagcn.embedding.settings import EmbeddingSettings
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.training.setting_field import flag_of

assert kappagcn.cli  # registers the commands
COMMANDS = dict(typer.main.get_command(app).commands)
ALL = {**COMMANDS, **{f"data {name}": each for name, each in COMMANDS.pop("data").commands.items()}}
SETTINGS = {"embed": EmbeddingSettings, "classify": ClassificationSettings, "link": LinkPredictionSettings}


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def words(name):
        result = run(*name.split(), "--help")
        assert result.exit_code == 0, result.output
        return " ".join(result.stdout.split())

    return words


@pytest.mark.parametrize("name", ALL)
def test_a_command_shows_at_most_18_options(name, shown):
    options = [each for each in ALL[name].params if each.param_type_name == "option" and not each.hidden]
    assert len(options) <= 18
    assert all(each.help and each.help.endswith(".") for each in options)
    assert all(max(each.opts, key=len) in shown(name) for each in options)


@pytest.mark.parametrize("name", SETTINGS)
def test_what_most_people_set_is_an_option(name):
    options = {word for each in ALL[name].params if not each.hidden for word in each.opts}
    assert {"--space", "--epochs", "--method" if name == "embed" else "--model"} <= options


def test_types_of_numbers_are_shown(shown):
    assert "--epochs <int|auto>" in shown("embed")
    assert "--epochs <int>" in shown("classify")


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_an_option_with_choices_and_range_or_a_name_for_set(name, shown):
    words = shown(name)
    for each in fields(SETTINGS[name]):
        flag = flag_of(each).replace("_", "-")
        if each.metadata["common"]:
            assert f"--{flag} " in words
            assert ", ".join(each.metadata["choices"]) in words
            assert (each.metadata["range"] or "") in words
        elif not each.metadata["python_only"]:
            assert f" {flag}" in words.partition("Names for --set")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("embed karate --epochs 3 --set epochs=4", "--epochs: expected it once, found it also in --set"),
        ("embed karate --set epochs", "--set: expected NAME=VALUE, found 'epochs'"),
        ("embed karate --set epoch=3", "--set: expected graph, space, epochs,"),
        ("embed karate --set json=true", "found 'json'"),
    ],
)
def test_what_set_expects_is_said(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in message_of(run(*arguments.split()))
    assert not list(tmp_path.iterdir())


def test_a_setting_that_the_help_does_not_show_is_also_a_flag(tmp_path):
    """Messages about files name --header and --matrix, which some commands do not show."""
    (tmp_path / "ring.csv").write_text("a,b\n" + "".join(f"{i},{(i + 1) % 40}\n" for i in range(40)))
    options = ["--no-train-decoder", "--header", "--threads", "1", "--dry-run"]
    lines = run("link", tmp_path / "ring.csv", *options).stdout.splitlines()
    assert {"train-decoder = false", "header = true", "threads = 1"} <= set(lines)


def test_set_wins_over_a_file_and_takes_switches(tmp_path):
    (tmp_path / "run.toml").write_text('epochs = 3\nlr = 0.5\nspace = "S2"\n')
    options = ["--set", "lr=0.25", "--config", tmp_path / "run.toml", "--set", "train-decoder=false", "--dry-run"]
    lines = run("link", "karate", *options).stdout.splitlines()
    assert {"epochs = 3", "lr = 0.25", 'space = "S2"', "train-decoder = false"} <= set(lines)
