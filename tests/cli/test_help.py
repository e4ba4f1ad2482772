import re
from enum import Enum

import pytest
import typer

import kappagcn.cli
from kappagcn.cli.app import app
from kappagcn.cli.help import panels, shortened

assert kappagcn.cli  # registers the commands
COMMANDS = typer.main.get_command(app).commands


GROUP = typer.main.get_command(app)
ALL = {"": GROUP, **COMMANDS, **{f"data {name}": each for name, each in COMMANDS["data"].commands.items()}}


def lines(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command = ALL[name]
    command.format_help(typer.Context(command, info_name=f"kappagcn {name}".strip()), None)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", ALL)
def test_every_option_and_command_is_one_whole_line_of_80_columns(name, capsys, monkeypatch):
    shown = lines(name, capsys, monkeypatch)
    assert max(map(len, shown)) <= 80
    assert not [line for line in shown if "…" in line or "<" in line or "TEXT" in line]
    options = [line for line in shown if re.match(r"  --", line)]
    assert len(options) == len([each for each in ALL[name].params if each.param_type_name == "option"]) + 1
    for each in getattr(ALL[name], "commands", ()):
        assert len([line for line in shown if re.match(rf"  {each}  +\w", line)]) == 1


@pytest.mark.parametrize("name", [name for name, each in ALL.items() if not hasattr(each, "commands")])
def test_words_that_an_option_takes_are_all_listed(name, capsys, monkeypatch):
    shown = "\n".join(lines(name, capsys, monkeypatch))
    for each in ALL[name].params:
        if isinstance(each.default, Enum):
            assert ": " + "|".join(word.value for word in type(each.default)) in shown


def test_panels_come_in_the_order_in_which_people_need_them(capsys, monkeypatch):
    shown = lines("embed", capsys, monkeypatch)
    titles = [line for line in shown if re.fullmatch(r"[A-Z][a-z]+", line)]
    assert titles == ["Arguments", "Common", "Training", "Files", "Machine", "Other"]
    assert re.match(r"  --space .*\[H10\]$", shown[shown.index("Common") + 1])
    assert panels(COMMANDS["classify"].params)["Common"][0].name == "space"


def test_texts_are_cut_at_the_end_of_a_clause():
    assert shortened("Short.", 20) == "Short."
    assert shortened("Number of epochs; patience may end it earlier.", 30) == "Number of epochs."
    assert shortened("A text without any clause at all", 20) == "A text without any clause at all"
    assert shortened("One (a; b) longer; two.", 12) == "One (a; b) longer."
