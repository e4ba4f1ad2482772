"""`kappagcn embed`: a graph as points of a space."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

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
    Threads,
    Timeout,
    all_settings,
    check_distributed,
    command,
    load,
    messages,
    prepare,
    print_rows,
    print_settings,
    process_group_of,
    run_folder,
    say,
)
from kappagcn.cli.setting_options import resolved_flags
from kappagcn.estimators.settings import EmbeddingSettings


@command("kappagcn embed karate --space H2xS2 --epochs 200 --out karate-run", settings=EmbeddingSettings)
def embed(
    context: typer.Context,
    graph: Graph,
    settings: EmbeddingSettings,
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

    embedder = GraphEmbedder(**asdict(settings))
    embedder.check()
    loaded = load(graph, data, features, labels, header)
    if loaded.get("edge_weight") is not None and weights:
        say("Weights are taken as lengths of edges; --no-weights counts edges as steps.")
    elif not weights:
        loaded.edge_weight = None
    if dry_run:
        print_settings(all_settings(context, **resolved_flags(settings)), as_json=as_json)
        return
    prepare(threads)
    folder = run_folder(out, graph, settings.space)
    with process_group_of(distributed, timeout, folder) as group:
        summary = embedder.fit(loaded, folder=folder, resume=resume, group=group).summary()
    if messages.quiet:
        return
    if as_json:
        print(json.dumps({"graph": graph, "run": str(folder), **summary}))
        return
    error = f" ± {summary['distortion_std_error']:.2g}" if summary["distortion_std_error"] else ""
    worst = summary["worst_distortion"]
    ratio = "infinite: some nodes coincide" if worst is None else f"{worst:.3g}"
    print_rows(
        [
            ("space", f"{settings.space}, learned {summary['learned_space']}"),
            ("average distortion", f"{summary['distortion']:.5f}{error}"),
            ("worst-case distortion", ratio),
            ("mean average precision", "no edges" if summary["map"] is None else f"{summary['map']:.3f}"),
            ("run", str(folder)),
        ]
    )
    say(f"Look at it: kappagcn report {folder}")
