"""What all commands share: the application, the two consoles, options, and how errors end."""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from kappagcn.cli.setting_options import flags, plain, setting_options
from kappagcn.errors import DivergedError, DownloadError, KappaGCNError, WorkerLostError
from kappagcn.estimators.settings import as_settings

__all__ = [
    "AsJson",
    "Config",
    "DataFolder",
    "DryRun",
    "Features",
    "Graph",
    "Header",
    "Labels",
    "Resume",
    "Seed",
    "Threads",
    "all_settings",
    "app",
    "guarded",
    "load",
    "make",
    "messages",
    "print_rows",
    "print_table",
    "refuse",
    "say",
]

ORDER = ("demo", "info", "embed", "classify", "predict", "reproduce", "plot", "report", "data")
Command = TypeVar("Command", bound=Callable[..., Any])


class OneLine(TyperGroup):
    """Commands whose wrong use ends in one line, as every other error does."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order in which people need them."""
        return sorted(super().list_commands(ctx), key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def main(self, *arguments: Any, **extra: Any) -> Any:
        """Run a command and leave with its code."""
        try:
            code: Any = super().main(*arguments, **{**extra, "standalone_mode": False})
        except typer.Abort:
            code = refuse("stopped.", 1).exit_code
        except Exception as problem:
            if not hasattr(problem, "format_message"):
                raise
            code = 2
            if type(problem).__name__ != "NoArgsIsHelpError":  # which has shown the help already
                code = refuse(_words(problem.format_message(), getattr(problem, "ctx", None))).exit_code
        sys.exit(code if isinstance(code, int) else 0)


def _words(message: str, context: Any) -> str:
    path = "kappagcn" if context is None else context.command_path
    end = "" if message.endswith(("?", ".")) else "."
    return f"{message}{end} See {path} --help."


app = typer.Typer(
    name="kappagcn",
    cls=OneLine,
    help="Graph learning in spaces of constant curvature: hyperbolic, Euclidean, spherical and products of them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
messages = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A line beside the result, on standard error."""
    messages.print(escape(text), soft_wrap=True)


def refuse(message: str, code: int = 2) -> typer.Exit:
    """Say in one line what is wrong; raise what this returns."""
    one_line = " ".join(message.split())
    messages.print(f"[red]kappagcn:[/red] {escape(one_line)}", soft_wrap=True)
    return typer.Exit(code)


@contextmanager
def guarded() -> Iterator[None]:
    """Errors and Ctrl-C end in one line: code 2 for what the user can put right, 1 for what ran and failed."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show  # type: ignore[assignment]
            yield
    except (DownloadError, DivergedError, WorkerLostError) as problem:
        raise refuse(str(problem), 1) from None
    except KappaGCNError as problem:
        raise refuse(str(problem)) from None
    except KeyboardInterrupt as stop:
        where = str(stop).replace("resume=True goes on from there", "the same command with --resume goes on from there")
        raise refuse(f"stopped {where}." if where else "stopped.", 1) from None
    except BrokenPipeError:
        sys.stderr.close()  # whoever read has gone: nothing to say, nobody to say it to
        raise typer.Exit(1) from None
    except ModuleNotFoundError as problem:
        if (problem.name or "").split(".")[0] != "matplotlib":
            raise
        raise refuse(
            "expected matplotlib for pictures, found none; pip install 'kappagcn[figures]' brings it."
        ) from None
    except OSError as problem:
        name = "" if problem.filename is None else f"{problem.filename}: "
        raise refuse(f"{name}{problem.strerror or problem}.", 1) from None
    except (MemoryError, RuntimeError) as problem:
        if isinstance(problem, RuntimeError) and "allocate" not in str(problem):
            raise
        raise refuse("expected less to do than the memory of this machine holds, found more.", 1) from None


def _show(message: Warning | str, category: type[Warning], *where: Any) -> None:
    say(f"kappagcn: {message}")


def command(
    example: str, *, to: typer.Typer = app, name: str | None = None, settings: type[Any] | None = None
) -> Callable[[Command], Command]:
    """A command whose errors are guarded and whose help shows an example.

    Args:
        example: Shown at the end of the help.
        to: Application or group that gets the command.
        name: Name of the command; that of the function by default.
        settings: Settings whose fields become options, in place of the function's parameter ``settings``.
    """

    def register(function: Command) -> Command:
        @functools.wraps(function)
        def run(**options: Any) -> Any:
            with guarded():
                if settings is not None:
                    values = {flag: options.pop(flag) for flag in flags(settings)}
                    options["settings"] = as_settings(settings, {k: plain(v) for k, v in values.items()})
                return function(**options)

        if settings is not None:
            signature = inspect.signature(function, eval_str=True)
            parameters = [
                each
                for own in signature.parameters.values()
                for each in (setting_options(settings) if own.name == "settings" else [own])
            ]
            del run.__wrapped__  # typer reads the signature below
            run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
            run.__annotations__ = {each.name: each.annotation for each in parameters}
        to.command(name, epilog=f"Example: {example}")(run)
        return function

    return register


def make(out: Path) -> Path:
    """The folder, which now exists and can be written."""
    probe = out / ".kappagcn"
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise refuse(f"--out: expected a folder that can be written, found {str(out)!r} ({error.strerror}).") from None
    return out


def print_rows(rows: list[tuple[str, str]]) -> None:
    """Names and values, aligned, on standard output."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(escape(name), escape(value))
    Console(highlight=False).print(table)


def print_table(columns: list[str], rows: list[list[str]]) -> None:
    """A table on standard output."""
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(escape(word) for word in row))
    Console(highlight=False).print(table)


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Settings of a file become the defaults of the flags with their names."""
    if path is None:
        return None
    with guarded():
        from kappagcn.estimators.settings import read_toml

        values = {name.replace("-", "_"): value for name, value in read_toml(path).items()}
        known = {p.name: p for p in context.command.params if p.name not in ("config", "help", "dry_run", "as_json")}
        for name, value in values.items():
            if name not in known:
                wanted = ", ".join(str(name).replace("_", "-") for name in known)
                raise refuse(f"{path}: expected {wanted}, found {name!r}.")
            if isinstance(value, dict | list):
                raise refuse(f"{path}: {name}: expected a word or a number, found {value!r}.")
        words = {name: value if isinstance(value, bool) else str(value) for name, value in values.items()}
        context.default_map = {**(context.default_map or {}), **words}  # words are checked as those of flags are
    return path


def all_settings(context: typer.Context, **resolved: Any) -> dict[str, Any]:
    """All flags of a command as they stand, but for those that do not change its numbers."""
    left_out = ("config", "help", "dry_run", "as_json", "resume", "out", "data")
    names = [str(p.name) for p in context.command.params if p.name not in left_out]
    every = {name: resolved.get(name, context.params.get(name)) for name in names}
    return {name: value for name, value in every.items() if value is not None}


def print_settings(settings: dict[str, Any], *, as_json: bool) -> None:
    """As TOML, which --config reads, or as JSON."""
    if as_json:
        print(json.dumps(settings))
        return
    for name, value in settings.items():
        print(f"{name.replace('_', '-')} = {json.dumps(value, ensure_ascii=False)}")


DataFolder = Annotated[
    Path | None, typer.Option("--data", envvar="KAPPAGCN_DATA", help="Folder in which datasets are looked for first.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Graph = Annotated[str, typer.Argument(help="A built-in name (see kappagcn data list) or a file.")]
Features = Annotated[
    str | None, typer.Option(help="File with node features; for GraphML and GML names of attributes, by commas.")
]
Labels = Annotated[
    str | None, typer.Option(help="File with node labels; for GraphML and GML the name of an attribute.")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether an edge list has a heading; found out otherwise."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of whatever is drawn.")]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", is_eager=True, callback=_read_config, help="TOML file of settings; flags given beside it win."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out, if there is one.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print all settings, as --config reads them, and stop.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads; all cores by default.")]


def load(graph: str, data: Path | None, features: str | None, labels: str | None, header: bool | None) -> Any:
    """The graph, with a line about it on standard error."""
    from kappagcn.graphs import load_graph

    loaded = load_graph(graph, root=data, features=features, labels=labels, header=header, sparse=True, progress=True)
    say(f"{graph}: {loaded.report}")
    return loaded


def wait_passively() -> None:
    """Let OpenMP's threads sleep instead of spin while they have nothing to do; call it before torch is loaded.

    Beside a busy core a spinning thread is often not running when its share of an operation comes up, and the others
    wait for it: small graphs were trained many times slower. Sleeping threads are woken at once (docs/busy-core.md).
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def prepare(count: int | None) -> None:
    """Threads, for torch and compiled kernels alike; and memory that is not given back after every step."""
    from kappagcn.training.memory import keep_freed_memory

    keep_freed_memory()
    if count is not None:
        import torch

        torch.set_num_threads(count)


Distributed = Annotated[
    bool, typer.Option("--distributed", help="Work together with the other workers that torchrun started.")
]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds after which a silent worker counts as gone.")]


def check_distributed(distributed: bool) -> None:
    """Refuse --distributed without torchrun, and torchrun without --distributed; let rank 0 alone print."""
    if not distributed and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        messages.quiet = os.environ.get("RANK", "0") != "0"
        raise refuse("expected --distributed for several workers, found them without: each would do the same run.")
    if distributed and "RANK" not in os.environ:
        raise refuse(
            "--distributed: expected to be one of several workers, found a single process. Start them with "
            "torchrun --nproc-per-node 2 -m kappagcn ..."
        )
    messages.quiet = distributed and os.environ["RANK"] != "0"


@contextmanager
def process_group_of(distributed: bool, timeout: float, folder: Path) -> Iterator[Any]:
    """The process group of a run, None without --distributed; the first rank left says which process was lost."""
    if not distributed:
        yield None
        return
    from kappagcn.distributed import process_group

    try:
        with process_group(timeout) as group:
            yield group
    except WorkerLostError as problem:
        messages.quiet = not problem.report_here
        raise WorkerLostError(
            f"{problem}. {folder} holds the last checkpoint: the same command with --resume goes on, with any number "
            "of workers."
        ) from None


def run_folder(out: Path | None, graph: str, space: str) -> Path:
    """Where a run goes that was not told."""
    return Path("runs") / f"{Path(graph).stem}-{space}" if out is None else out
