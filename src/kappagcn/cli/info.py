"""`kappagcn info`: statistics of a graph, and a suggested space."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import AsJson, FileOptions, Graph, Seed
from kappagcn.cli.output import make_folder, print_choice, print_rows, say

WEIGHTS = ("weights", "not counted here: distances, curvature and δ are in steps; embed takes weights as lengths")
EPOCHS = 300  # epochs of the longest trial


def try_spaces(graph: Any, dim: int, seed: int) -> Any:
    """The candidates of `kappagcn embed --space auto` with their D_avg; weights count as lengths."""
    from kappagcn.distributed import Communicator
    from kappagcn.embedding.run import EmbeddingRun
    from kappagcn.embedding.settings import EmbeddingSettings
    from kappagcn.embedding.space_choice import choose_space

    settings = EmbeddingSettings("auto", dim=dim, epochs=EPOCHS, random_state=seed)
    choice, _ = choose_space(EmbeddingRun(settings, graph, Communicator()), dim, say)
    return choice


@command("kappagcn info karate")
def info(
    graph: Graph,
    *,
    files: FileOptions,
    dim: Annotated[int, typer.Option(min=1, help="Dimension of the space to suggest.")] = 16,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for info.json; curvature of every node included.")] = None,
    attempt: Annotated[
        bool, typer.Option("--try", help="Also embed the graph in several spaces, and compare.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Describe a graph, and suggest a space; size, degrees, distances, curvature, δ-hyperbolicity."""
    if out is not None:
        make_folder(out)
    from kappagcn.graphs import describe
    from kappagcn.io_atomic import atomic_write

    loaded = files.load(graph)
    statistics = describe(loaded, dim=dim, seed=seed, progress=True)
    record = {"graph": graph, "seed": seed, "report": loaded.report, **statistics.record()}
    choice = try_spaces(loaded, dim, seed) if attempt else None
    if choice is not None:
        record["choice"] = choice.as_dict()
    if out is not None:
        with atomic_write(out / "info.json") as file:
            file.write(json.dumps(record).encode())
    if as_json:
        print(json.dumps(record))
    else:
        print_rows([*statistics.rows(), *([WEIGHTS] if loaded.get("edge_weight") is not None else [])])
        if choice is not None:
            print_choice(choice)
