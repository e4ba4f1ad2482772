"""The command line: reads arguments, calls, prints. Heavy imports wait until a command needs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from kappagcn._version import __version__
from kappagcn.errors import KappaGCNError

__all__ = ["app"]

app = typer.Typer(
    name="kappagcn",
    help="Graph learning in spaces of constant curvature: hyperbolic, Euclidean, spherical and products of them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
messages = Console(stderr=True, highlight=False)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kappagcn {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _refuse(message: str) -> typer.Exit:
    messages.print(f"[red]kappagcn:[/red] {escape(message)}", soft_wrap=True)
    return typer.Exit(2)


@app.command(epilog="Example: kappagcn demo --out demo --seed 0")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the starting points.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Optimisation steps per space.")] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Embed a tree on a sphere, in the plane and with its curvature learned; print a table, write a picture."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refuse(f"--out: expected a folder that can be written, found {str(out)!r} ({error.strerror}).") from None
    from kappagcn import demo as job

    try:
        results = job.run(seed=seed, steps=steps, console=messages)
        picture = job.draw(results, out / "tree.png")
    except (KappaGCNError, OSError) as error:
        raise _refuse(str(error)) from None
    if as_json:
        print(
            json.dumps(
                {
                    "seed": seed,
                    "steps": steps,
                    "picture": str(picture),
                    "spaces": [r.record() for r in results],
                }
            )
        )
    else:
        job.show(results, picture, Console(highlight=False))
