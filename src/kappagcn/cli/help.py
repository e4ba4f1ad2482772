"""Help of a command that fits 80 columns: options in panels, the common ones first, a line each."""

import re
from dataclasses import fields
from enum import Enum
from typing import Any

from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand

from kappagcn.cli.options import FileOptions

WIDEST = 100  # columns; longer lines are hard to read
NAME = 24  # columns of the names of options
COMMON = ("space", "dim", "objective", "model", "epochs", "seed", "splits", "runs", "out", "resume", "as_json", "quick")
MACHINE = ("threads", "device", "distributed", "timeout")
SHARED = ("config", "dry_run", "help")


class OneLineHelp(TyperCommand):
    """A command whose help has one line for each option."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print usage, what the command does, arguments, and options by panel."""
        console = Console(highlight=False)
        width = min(console.width, WIDEST)
        console.print(Text.assemble(("Usage: ", "bold"), " ".join([ctx.command_path, *self.collect_usage_pieces(ctx)])))
        console.print()
        console.print(Text(self.help or ""), width=width)
        for title, params in panels(self.get_params(ctx)).items():
            console.print()
            console.print(Text(title, "bold"))
            for each in params:
                console.print(_line(each, ctx, width), no_wrap=True, overflow="ellipsis", width=width, crop=True)
        if self.epilog:
            console.print()
            console.print(Text(self.epilog), soft_wrap=True)


def panels(params: list[Any]) -> dict[str, list[Any]]:
    """Arguments and options by the panel they are in, without empty panels."""
    titles = ("Arguments", "Common", "Training", "Files", "Machine", "Other")
    files = {each.name for each in fields(FileOptions)} | {"weights", "csv", "export", "add"}
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


def _line(param: Any, ctx: Any, width: int) -> Text:
    argument = param.param_type_name == "argument"
    name = param.name.upper() if argument else max(param.opts, key=len)
    if param.secondary_opts:
        name = f"--[no-]{name.removeprefix('--')}"
    default = "" if argument else _default(param, ctx)
    start = f"  {name:<{NAME}}" if len(name) < NAME else f"  {name} "
    room = width - len(start) - (len(default) + 3 if default else 0)
    line = Text.assemble((start, "cyan"), shortened(_words(param), room))
    return line.append(f" [{default}]", "dim") if default else line


def _words(param: Any) -> str:
    text = str(getattr(param, "help", None) or "")
    choices = [str(each.value) for each in type(param.default)] if isinstance(param.default, Enum) else []
    return f"{', '.join(choices)}: {text[0].lower()}{text[1:]}" if choices and text else text


def _default(param: Any, ctx: Any) -> str:
    value = param.get_default(ctx)
    if value is None or isinstance(value, bool) or callable(value) or value == ():
        return "" if not (isinstance(value, bool) and value and param.secondary_opts) else "yes"
    if isinstance(value, Enum) and value is next(iter(type(value))):
        return ""  # the first of the words that are listed
    return str(getattr(value, "value", value))


def shortened(text: str, room: int) -> str:
    """As many whole clauses of a help text as fit, or its beginning.

    >>> shortened("Number of epochs; patience may end it earlier.", 30)
    'Number of epochs.'
    """
    if len(text) <= room:
        return text
    ends = [match.start() for match in re.finditer(r"[;.](?= )", text) if match.start() < room]
    if ends and text[: ends[-1]].count("(") == text[: ends[-1]].count(")"):
        return f"{text[: ends[-1]]}."
    return f"{text[: room - 1].rsplit(' ', 1)[0].rstrip(',;:')}…"
