"""`kappagcn embed`: a graph as points of a space."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import AsJson, FileOptions, Graph, RunOptions, configure_torch, print_settings
from kappagcn.cli.output import messages, print_rows, say
from kappagcn.estimators.settings import EmbeddingSettings

WEIGHTS_HELP = "Whether weights are lengths of edges, or edges are steps."


@command("kappagcn embed karate --space H2xS2 --epochs 200 --out karate-run")
def embed(
    context: typer.Context,
    graph: Graph,
    *,
    settings: EmbeddingSettings,
    run: RunOptions,
    weights: Annotated[bool, typer.Option("--weights/--no-weights", help=WEIGHTS_HELP)] = True,
    files: FileOptions,
    as_json: AsJson = False,
) -> None:
    """Embed a graph so that distances in the space are those in the graph, as nearly as possible."""
    run.check_distributed()
    from kappagcn.estimators import GraphEmbedder

    embedder = GraphEmbedder(**asdict(settings))
    embedder.check()
    loaded = files.load(graph)
    if loaded.get("edge_weight") is not None and weights:
        say("Weights are taken as lengths of edges; --no-weights counts edges as steps.")
    elif not weights:
        loaded.edge_weight = None
    if run.dry_run:
        print_settings(context, settings, as_json=as_json)
        return
    configure_torch(run.threads)
    directory = run.directory(graph, settings.space)
    with run.process_group(directory) as group:
        summary = embedder.fit(loaded, folder=directory, resume=run.resume, group=group).summary()
    if messages.quiet:
        return
    if as_json:
        print(json.dumps({"graph": graph, "run": str(directory), **summary}))
        return
    error = f" ± {summary['distortion_std_error']:.2g}" if summary["distortion_std_error"] else ""
    worst = summary["worst_distortion"]
    print_rows(
        [
            ("space", f"{settings.space}, learned {summary['learned_space']}"),
            ("average distortion", f"{summary['distortion']:.5f}{error}"),
            ("worst-case distortion", "infinite: some nodes coincide" if worst is None else f"{worst:.3g}"),
            ("mean average precision", "no edges" if summary["map"] is None else f"{summary['map']:.3f}"),
            ("run", str(directory)),
        ]
    )
    say(f"Look at it: kappagcn report {directory}")
