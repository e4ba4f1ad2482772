"""The application, and the decorator that makes functions its commands."""

import inspect
import io
import os
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, TypeVar

import typer
from typer.core import TyperGroup

from kappagcn.cli.options import group_parameters, names_for_set, refuse_twice, take_group
from kappagcn.cli.output import one_line_errors, refuse

ORDER = ("demo", "info", "embed", "classify", "link", "predict", "reproduce", "plot", "report", "data")
Command = TypeVar("Command", bound=Callable[..., Any])


class OneLineErrors(TyperGroup):
    """Group of commands that reports usage errors in one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands, the most used first."""
        return sorted(super().list_commands(ctx), key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def main(self, *arguments: Any, **extra: Any) -> Any:
        """Run a command and exit with its code."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # escape characters such as κ that the locale does not have
                stream.reconfigure(errors="backslashreplace")
        try:
            code: Any = super().main(*arguments, **{**extra, "standalone_mode": False})
        except typer.Abort:
            code = refuse("stopped.", 1).exit_code
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            code = 2
            if type(error).__name__ != "NoArgsIsHelpError":  # Typer has already printed the help
                message, context = error.format_message(), getattr(error, "ctx", None)
                end = "" if message.endswith(("?", ".")) else "."
                refuse(f"{message}{end} See {context.command_path if context else 'kappagcn'} --help.")
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    name="kappagcn",
    cls=OneLineErrors,
    help="Graph learning in spaces of constant curvature: hyperbolic, Euclidean, spherical and products of them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(
    example: str, *, to: typer.Typer = app, name: str | None = None, hidden: tuple[str, ...] = ()
) -> Callable[[Command], Command]:
    """Register a command with errors in one line and an example in its help.

    A parameter whose type is a group of options or the settings of a task becomes one option per field.

    Args:
        example: Example at the end of the help.
        to: Application or group that gets the command.
        name: Name of the command; that of the function by default.
        hidden: Members of groups that only ``--set`` and TOML files reach, as they do settings that are not common.
    """

    def register(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        groups = {each.name: each.annotation for each in signature.parameters.values() if is_dataclass(each.annotation)}

        def run(**options: Any) -> Any:
            with one_line_errors():
                if "context" in options:
                    refuse_twice(options["context"])
                members = {name: take_group(group, options) for name, group in groups.items()}  # type: ignore[arg-type]
                return function(**options, **members)

        parameters: list[inspect.Parameter] = []
        for each in signature.parameters.values():
            members = group_parameters(each.annotation, hidden) if each.name in groups else [each]
            parameters += [member.replace(kind=inspect.Parameter.KEYWORD_ONLY) for member in members]
        run.__doc__ = function.__doc__
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        to.command(name or function.__name__, epilog=f"Example: {example}{names_for_set(parameters)}")(run)
        return function

    return register


def wait_passively() -> None:
    """Let idle OpenMP threads sleep instead of spin; call it before torch is loaded.

    If another process keeps a core busy, a spinning thread is often not running when its share of an operation is due,
    and the other threads wait for it: small graphs were trained many times slower. Sleeping threads are woken at once
    (docs/busy-core.md).
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
