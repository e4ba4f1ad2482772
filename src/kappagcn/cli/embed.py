"""`kappagcn embed`: a graph as points of a space."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kappagcn.cli.common import (
    AsJson,
    Config,
    DataFolder,
    Distributed,
    DryRun,
    Features,
    Graph,
    Header,
    Labels,
    Resume,
    Seed,
    Threads,
    Timeout,
    check_distributed,
    command,
    load,
    messages,
    prepare,
    print_rows,
    print_settings,
    process_group_of,
    refuse,
    run_folder,
    say,
    settings,
)


class Method(StrEnum):
    """How points come about."""

    free = "free"
    kappa_gcn = "kappa-gcn"


class Start(StrEnum):
    """Where curvatures start."""

    graph = "graph"
    paper = "paper"


def number(text: str, name: str, kind: type[Any] = float) -> Any:
    """A number, or the word auto."""
    try:
        return text if text == "auto" else kind(text)
    except ValueError:
        raise refuse(f"--{name}: expected a number or auto, found {text!r}.") from None


@command("kappagcn embed karate --space H2xS2 --epochs 200 --out karate-run")
def embed(
    context: typer.Context,
    graph: Graph,
    space: Annotated[str, typer.Option(help="Signature, such as H10, S5xS5, E10, H2^4, U8.")] = "H10",
    method: Annotated[
        Method, typer.Option(help="Train the points themselves, or the paper's network on one-hot features.")
    ] = Method.free,
    start: Annotated[
        Start, typer.Option(help="Curvatures from the graph's diameter and δ, or ±1 as in the paper.")
    ] = Start.graph,
    epochs: Annotated[int, typer.Option(min=1, help="Steps of training.")] = 2000,
    lr: Annotated[str, typer.Option(help="Of points or weights; a number or auto.")] = "auto",
    curvature_lr: Annotated[str, typer.Option(help="Of the curvatures; 0 keeps them; a number or auto.")] = "auto",
    sources: Annotated[
        str, typer.Option(help="Nodes whose distances each step takes, 0 for all; a number or auto.")
    ] = "auto",
    hidden: Annotated[int, typer.Option(min=1, help="Dimension of the network's hidden layer.")] = 16,
    activation: Annotated[str, typer.Option(help="Between the network's layers: none, relu, tanh, elu.")] = "none",
    seed: Seed = 0,
    threads: Threads = None,
    distributed: Distributed = False,
    timeout: Timeout = 60.0,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; runs/GRAPH-SPACE by default.")] = None,
    resume: Resume = False,
    dry_run: DryRun = False,
    config: Config = None,
    weights: Annotated[
        bool, typer.Option("--weights/--no-weights", help="Whether weights are lengths of edges, or edges are steps.")
    ] = True,
    features: Features = None,
    labels: Labels = None,
    header: Header = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Embed a graph so that distances in the space are those in the graph, as nearly as possible."""
    check_distributed(distributed)
    from kappagcn.estimators import GraphEmbedder

    embedder = GraphEmbedder(
        space,
        method=method.value,
        start=start.value,
        hidden=hidden,
        activation=activation,
        epochs=epochs,
        lr=number(lr, "lr"),
        curvature_lr=number(curvature_lr, "curvature-lr"),
        sources=number(sources, "sources", int),
        seed=seed,
    )
    embedder.check()
    found = load(graph, data, features, labels, header)
    if found.get("edge_weight") is not None and weights:
        say("Weights are taken as lengths of edges; --no-weights counts edges as steps.")
    elif not weights:
        found.edge_weight = None
    if dry_run:
        told = {name: value for name, value in embedder.get_params().items() if name != "progress"}
        print_settings(settings(context, **told), as_json=as_json)
        return
    prepare(threads)
    folder = run_folder(out, graph, space)
    with process_group_of(distributed, timeout, folder) as group:
        summary = embedder.fit(found, folder=folder, resume=resume, group=group).summary()
    if messages.quiet:
        return
    if as_json:
        print(json.dumps({"graph": graph, "run": str(folder), **summary}))
        return
    error = f" ± {summary['error']:.2g}" if summary["error"] else ""
    worst = "infinite: some nodes coincide" if summary["worst"] is None else f"{summary['worst']:.3g}"
    print_rows(
        [
            ("space", f"{space}, learned {summary['learned_space']}"),
            ("average distortion", f"{summary['average']:.5f}{error}"),
            ("worst-case distortion", worst),
            ("mean average precision", "no edges" if summary["precision"] is None else f"{summary['precision']:.3f}"),
            ("run", str(folder)),
        ]
    )
    say(f"Look at it: kappagcn report {folder}")
