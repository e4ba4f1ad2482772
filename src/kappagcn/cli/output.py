"""Results on standard output, messages on standard error, and errors in one line with an exit code."""

import json
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from kappagcn.errors import DivergedError, DownloadError, EmbeddingFailedError, KappaGCNError, WorkerLostError

messages = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Print a message on standard error."""
    messages.print(escape(text), soft_wrap=True)


def refuse(message: str, code: int = 2) -> typer.Exit:
    """Print an error in one line, and return the exception that ends the command."""
    messages.print(f"[red]kappagcn:[/red] {escape(' '.join(message.split()))}", soft_wrap=True)
    return typer.Exit(code)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print errors and Ctrl-C in one line: exit code 2 for wrong input, 1 for a run that failed."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: say(f"kappagcn: {message}")
            yield
    except (DownloadError, DivergedError, EmbeddingFailedError, WorkerLostError) as error:
        raise refuse(str(error).replace("that is passed as root", "named by --data or KAPPAGCN_DATA"), 1) from None
    except KappaGCNError as error:
        raise refuse(str(error)) from None
    except KeyboardInterrupt as stop:
        state = str(stop).replace(
            "resume=True continues from there", "the same command with --resume continues from there"
        )
        raise refuse(f"stopped {state}." if state else "stopped.", 130) from None
    except BrokenPipeError:
        sys.stderr.close()  # the program that reads the pipe has closed it
        raise typer.Exit(1) from None
    except OSError as error:
        name = "" if error.filename is None else f"{error.filename}: "
        raise refuse(f"{name}{error.strerror or error}.", 1) from None
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate" not in str(error):
            raise
        raise refuse("Out of memory. Try classify --set batch-size=1024, or embed --set sources=64.", 1) from None


def command_line() -> str | None:
    """The command for the summary of its run, with file names for paths, because reports are shared; None in Python."""
    program, *arguments = sys.argv
    if Path(program).name not in ("kappagcn", "__main__.py"):
        return None
    return shlex.join(["kappagcn", *(re.sub("[^=]*/(?=.)", "", each) for each in arguments)])


def make_folder(out: Path) -> Path:
    """Make sure that a folder exists and can be written."""
    probe = out / ".kappagcn"
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise refuse(f"--out: expected a folder that can be written, found {str(out)!r} ({error.strerror}).") from None
    return out


def print_rows(rows: list[tuple[str, str]]) -> None:
    """Print names and values, aligned, on standard output."""
    from rich.table import Table

    _print(Table.grid(padding=(0, 2)), rows)


def print_result(
    summary: dict[str, Any], rows: Callable[[dict[str, Any]], list[tuple[str, str]]], as_json: bool
) -> None:
    """Print the summary of a run as JSON, or as rows of names and values."""
    if as_json:
        print(json.dumps(summary))
    else:
        print_rows([*rows(summary), ("run", summary["run"])])


def print_table(columns: list[str], rows: list[list[str]]) -> None:
    """Print a table on standard output."""
    from rich.table import Table

    _print(Table(*columns, box=None, pad_edge=False), rows)


def print_choice(choice: Any) -> None:
    """Print the candidates of --space auto as a table, and the reason in one sentence."""
    rows = [
        [each.space, str(each.epochs), f"{each.d_avg:.4f}", "" if each.map is None else f"{each.map:.3f}"]
        for each in choice.candidates
    ]
    print_table(["space", "epochs", "D_avg (mean relative error)", "mAP"], rows)
    print(choice.reason)


def _print(table: Any, rows: Any) -> None:
    for row in rows:
        table.add_row(*map(escape, row))
    Console(highlight=False).print(table)
