"""The command line: commands read arguments, call the library and print. Slow imports wait until they are needed."""

from typing import Annotated

import typer

from kappagcn._version import __version__
from kappagcn.cli import classify, data, demo, embed, info, link, predict, reproduce, view  # noqa: F401 (they register)
from kappagcn.cli.app import app, wait_passively

__all__ = ["app"]


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
    wait_passively()
