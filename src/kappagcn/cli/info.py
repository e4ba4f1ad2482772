"""`kappagcn info`: what a graph is like, and which space to try first."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import AsJson, FileOptions, Graph, Seed
from kappagcn.cli.output import make_folder, print_rows


@command("kappagcn info karate")
def info(
    graph: Graph,
    *,
    files: FileOptions,
    dim: Annotated[int, typer.Option(min=1, help="Dimension of the space to suggest.")] = 16,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for info.json, curvature of every node included.")] = None,
    as_json: AsJson = False,
) -> None:
    """Size, degrees, components, distances, curvature and δ-hyperbolicity of a graph, and the space to try first."""
    if out is not None:
        make_folder(out)
    from kappagcn.graphs import describe
    from kappagcn.io_atomic import atomic_write

    loaded = files.load(graph)
    statistics = describe(loaded, dim=dim, seed=seed, progress=True)
    record = {"graph": graph, "seed": seed, "report": loaded.report, **statistics.record()}
    if out is not None:
        with atomic_write(out / "info.json") as file:
            file.write(json.dumps(record).encode())
    if as_json:
        print(json.dumps(record))
    else:
        print_rows(statistics.rows())
