"""Help that fits 80 columns: commands, and options in panels, the common ones first, a line each."""

import re
from dataclasses import fields
from enum import Enum
from typing import Any

from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from kappagcn.cli.options import FileOptions

WIDEST = 100  # columns; longer lines are hard to read
NAME = 20  # columns of the names of options
COMMON = ("space", "dim", "objective", "model", "epochs", "seed", "splits", "runs", "out", "resume", "as_json", "quick")
MACHINE = ("threads", "device", "distributed", "timeout")
SHARED = ("config", "dry_run", "help")
SHORTER = {"show_completion": "Print completion for the current shell."}  # replaces longer texts of Typer


class OneLineHelp(TyperCommand):
    """A command whose help has one line for each option."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print usage, the purpose of the command, its arguments, and its options by panel."""
        panel_rows = {
            title: [_row(each, ctx) for each in members] for title, members in panels(self.get_params(ctx)).items()
        }
        print_help(self, ctx, panel_rows)


class OneLineGroupHelp(TyperGroup):
    """A group whose help has one line for each of its commands and options."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print usage, the purpose of the group, its commands and its options."""
        names = self.list_commands(ctx)
        commands = [(name, str(self.commands[name].help or "").split("\n\n")[0], "") for name in names]
        print_help(self, ctx, {"Commands": commands, "Options": [_row(each, ctx) for each in self.get_params(ctx)]})


def print_help(command: Any, ctx: Any, panel_rows: dict[str, list[tuple[str, str, str]]]) -> None:
    """Print the help of a command or a group; rows have a name, a text and a default."""
    console = Console(highlight=False)
    width = min(console.width, WIDEST)
    pieces = [piece.upper().replace("{", "").replace("}", "") for piece in command.collect_usage_pieces(ctx)]
    console.print(Text.assemble(("Usage: ", "bold"), " ".join([ctx.command_path, *pieces])))
    console.print()
    for paragraph in str(command.help or "").split("\n\n"):
        console.print(Text(" ".join(paragraph.split())), width=width)
    for title, rows in panel_rows.items():
        console.print()
        console.print(Text(title, "bold"))
        column = max(len(name) for name, *_ in rows) if title == "Commands" else NAME
        for name, words, default in rows:
            console.print(_line(name, words, default, column, width), soft_wrap=True)
    if command.epilog:
        console.print()
        console.print(Text(command.epilog), soft_wrap=True)


def panels(params: list[Any]) -> dict[str, list[Any]]:
    """Arguments and options by the panel they are in, without empty panels."""
    titles = ("Arguments", "Common", "Training", "Files", "Machine", "Other")
    files = {each.name for each in fields(FileOptions)} | {"csv", "export", "add"}
    trains = any(each.name == "epochs" for each in params)
    inside: dict[str, list[Any]] = {title if trains or title != "Training" else "Options": [] for title in titles}
    for each in params:
        if each.param_type_name == "argument":
            title = "Arguments"
        elif each.name in COMMON:
            title = "Common"
        elif each.name in files:
            title = "Files"
        elif each.name in MACHINE:
            title = "Machine"
        elif each.name in SHARED:
            title = "Other"
        else:
            title = "Training" if trains else "Options"
        inside[title].append(each)
    inside["Common"].sort(key=lambda each: COMMON.index(each.name))
    return {title: members for title, members in inside.items() if members}


def _row(param: Any, ctx: Any) -> tuple[str, str, str]:
    """The name of a parameter, its text, and its default if that is informative."""
    text = SHORTER.get(param.name, str(getattr(param, "help", None) or ""))
    if param.param_type_name == "argument":
        return param.name.upper(), text, ""
    name = max(param.opts, key=len)
    if param.secondary_opts:
        name = f"--[no-]{name.removeprefix('--')}"
    return name, _with_choices(text, param), _default(param, ctx)


def _with_choices(text: str, param: Any) -> str:
    """The first clause of a help text, followed by the allowed words of the option."""
    words = [str(each.value) for each in type(param.default)] if isinstance(param.default, Enum) else []
    return f"{re.split('[:;.] |[.]$', text)[0]}: {'|'.join(words)}" if words else text


def _default(param: Any, ctx: Any) -> str:
    value = param.get_default(ctx)
    if value is None or isinstance(value, bool) or callable(value) or value == ():
        return "" if not (isinstance(value, bool) and value and param.secondary_opts) else "yes"
    if isinstance(value, Enum) and value is next(iter(type(value))):
        return ""  # the default is the first of the listed words
    return str(getattr(value, "value", value))


def _line(name: str, words: str, default: str, column: int, width: int) -> Text:
    start = f"  {name:<{column}}  "
    room = width - len(start) - (len(default) + 3 if default else 0)
    line = Text.assemble((start, "cyan"), shortened(words, room))
    return line.append(f" [{default}]", "dim") if default else line


def shortened(text: str, room: int) -> str:
    """As many whole clauses of a help text as fit, at least the first.

    >>> shortened("Number of epochs; patience may end it earlier.", 30)
    'Number of epochs.'
    """
    if len(text) <= room:
        return text
    clauses = [text[: match.start()] for match in re.finditer(r"[;.](?= )", text)]
    whole = [each for each in clauses if each.count("(") == each.count(")")]
    fitting = [each for each in whole if len(each) < room] or whole[:1]
    return f"{fitting[-1]}." if fitting else text
