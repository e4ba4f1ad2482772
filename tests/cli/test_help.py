import re

import pytest
import typer

import kappagcn.cli
from kappagcn.cli.app import app
from kappagcn.cli.help import panels, shortened

assert kappagcn.cli  # registers the commands
COMMANDS = typer.main.get_command(app).commands


def lines(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command = COMMANDS[name]
    command.format_help(typer.Context(command, info_name=name), None)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "data"])
def test_every_option_is_one_line_of_80_columns(name, capsys, monkeypatch):
    shown = lines(name, capsys, monkeypatch)
    body = [line for line in shown if not line.startswith("Example")]
    assert max(map(len, body)) <= 80
    options = [line for line in shown if re.match(r"  --", line)]
    assert len(options) == len([each for each in COMMANDS[name].params if each.param_type_name == "option"]) + 1
    assert not [line for line in options if "<int" in line or "TEXT" in line]


def test_panels_come_in_the_order_in_which_people_need_them(capsys, monkeypatch):
    shown = lines("embed", capsys, monkeypatch)
    titles = [line for line in shown if re.fullmatch(r"[A-Z][a-z]+", line)]
    assert titles == ["Arguments", "Common", "Training", "Files", "Machine", "Other"]
    assert re.match(r"  --space .*\[H10\]$", shown[shown.index("Common") + 1])
    assert panels(COMMANDS["classify"].params)["Common"][0].name == "space"


def test_texts_are_cut_at_the_end_of_a_clause():
    assert shortened("Short.", 20) == "Short."
    assert shortened("Number of epochs; patience may end it earlier.", 30) == "Number of epochs."
    assert shortened("A text without any clause at all that could be cut", 20) == "A text without any…"
