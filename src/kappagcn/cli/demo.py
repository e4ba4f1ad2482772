"""`kappagcn demo`: a demonstration of embedding and classification in a minute."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kappagcn.cli.app import command
from kappagcn.cli.options import AsJson, Seed, Threads, configure_torch
from kappagcn.cli.output import make_folder, messages


@command("kappagcn demo --quick --epochs 20 --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the reports.")] = Path("demo"),
    seed: Seed = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of the tree's embeddings; others in proportion.")] = 500,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller tree, fewer epochs: about 15 seconds.")] = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Embed a tree, classify an epidemic, write pictures and pages; about a minute."""
    make_folder(out)
    from kappagcn import demo as job

    configure_torch(threads)
    results = job.run(out, seed=seed, epochs=epochs, quick=quick, console=messages)
    if as_json:
        print(json.dumps({"seed": seed, **results}))
    else:
        job.show(results, Console(highlight=False))
