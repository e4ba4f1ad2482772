"""`kappagcn embed`: a graph as points of a space."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import RARE, AsJson, FileOptions, Graph, RunOptions, configure_torch, print_settings
from kappagcn.cli.output import command_line, messages, print_choice, print_rows, refuse, say
from kappagcn.embedding.settings import EmbeddingSettings
from kappagcn.errors import GraphError
from kappagcn.training.setting_field import flag_of

ADD_HELP = "Run directory: add nodes of GRAPH that it does not have; the others stay where they are."
EXPORT_HELP = "Also write the points: .vec, .parquet, .npy, .npz, .csv; word2vec and gensim read .vec."
HIDDEN = ("features", "labels", "label", "weight", *RARE)
NAMED = 5  # largest number of coincident nodes that are printed by name


@command("kappagcn embed karate --space H2xS2 --epochs 200 --out karate-run", hidden=HIDDEN)
def embed(
    context: typer.Context,
    graph: Graph,
    *,
    settings: EmbeddingSettings,
    run: RunOptions,
    csv: Annotated[Path | None, typer.Option(hidden=True, help="Also write the points as CSV to this file.")] = None,
    export: Annotated[Path | None, typer.Option(help=EXPORT_HELP)] = None,
    add: Annotated[Path | None, typer.Option(help=ADD_HELP)] = None,
    files: FileOptions,
    as_json: AsJson = False,
) -> None:
    """Embed a graph as points with nearly the distances of the graph."""
    from kappagcn.embedding.embedder import GraphEmbedder

    embedder = GraphEmbedder.from_settings(settings, command_line())
    if export is not None:
        from kappagcn.embedding.files import check_ending

        check_ending(export)
    for name, file in (("csv", csv), ("export", export)):
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            problem = "a folder" if file.is_dir() else f"no folder {str(file.parent)!r}"
            raise refuse(f"--{name}: expected a file in a folder that exists, found {problem}.")
    if add is not None:
        _refuse_settings(settings, run, add)
        directory = Path(f"{add}-added") if run.out is None else run.out
    else:
        directory = run.directory(graph, settings.space)
    loaded = files.load(graph)
    if not loaded.num_edges:
        raise GraphError(f"{graph}: expected a graph with edges, found {loaded.num_nodes} nodes and no edge.")
    if loaded.get("edge_weight") is not None:
        say("Weights are taken as lengths of edges; --no-weights counts edges as steps.")
    if run.dry_run:
        from kappagcn.embedding.run import source_count

        source_count(settings, loaded.num_nodes)
        print_settings(context, settings, as_json=as_json)
        return
    configure_torch(run.threads)
    if add is not None:
        _add(add, loaded, directory, as_json=as_json)
    else:
        with run.process_group(directory) as group:
            embedder.fit_graph(loaded, folder=directory, resume=run.resume, group=group)
        if messages.quiet:
            return
        _print(graph, embedder, directory, loaded.get("node_names"), as_json=as_json)
    for file in (csv, export):
        if file is not None:
            _export(directory, file, ".csv" if file is csv else file.suffix.lower())
            say(f"Points: {file}")
    if not as_json:
        say(f"Look at it: kappagcn report {directory}")


def _export(run: Path, file: Path, ending: str) -> None:
    """Write the points of a run in the format of an ending."""
    from kappagcn.embedding.files import export_vectors
    from kappagcn.run_folder import SavedRun

    embedded = SavedRun(run).embedded
    export_vectors(file, [embedded.name(i) for i in range(len(embedded.points))], embedded.points, ending)


def _refuse_settings(settings: EmbeddingSettings, run: RunOptions, add: Path) -> None:
    """Refuse settings beside --add, which takes those of the run."""
    changed = [flag_of(each) for each in fields(settings) if getattr(settings, each.name) != each.default]
    changed += [name for name in ("resume", "distributed") if getattr(run, name)]
    if changed:
        raise refuse(f"--add: expected the settings of {add} alone, found --{changed[0].replace('_', '-')} beside it.")


def _add(run: Path, new: Any, directory: Path, *, as_json: bool) -> None:
    from kappagcn.embedding.added_nodes import add_nodes

    summary = add_nodes(run, new, directory)
    if as_json:
        print(json.dumps({"run": str(directory), **summary}))
        return
    rows = [("added nodes", f"{summary['added_nodes']}"), ("their D_avg", f"{summary['added_d_avg']:.5f}")]
    print_rows([*rows, ("run", str(directory))])


def _print(graph: str, embedder: Any, directory: Path, names: Any, *, as_json: bool) -> None:
    summary = embedder.summary()
    if as_json:
        print(json.dumps({"graph": graph, "run": str(directory), **summary}))
        return
    if embedder.choice_ is not None:
        print_choice(embedder.choice_)
    error = f" ± {summary['distortion_std_error']:.2g}" if summary["distortion_std_error"] else ""
    worst, space = summary["worst_distortion"], summary.get("chosen_space") or summary["space"]
    descends = embedder.method == "free" and not summary["distortion_std_error"]
    shared = [str(node if names is None else names[node]) for node in embedder.coincident_nodes_[:NAMED]]
    more = ", …" if len(embedder.coincident_nodes_) > NAMED else ""
    coincident = f"; {len(embedder.coincident_nodes_)} nodes share a place: {', '.join(shared)}{more}" if shared else ""
    print_rows(
        [
            ("space", f"{space}, learned {summary['learned_space']}"),
            *_interval_rows(summary["curvature_intervals"], asked=embedder.intervals),
            ("average distortion", f"{summary['distortion']:.5f}{error}"),
            ("D_avg", f"{summary['d_avg']:.5f}: distances are off by {100 * summary['d_avg']:.2g} % on average"),
            ("worst-case distortion", ("infinite" if worst is None else f"{worst:.3g}") + coincident),
            ("mean average precision", f"{summary['map']:.3f}"),
            ("epochs", f"{summary['epochs']}, {_stopped(summary['stopped_by'], descends=descends)}"),
            ("run", str(directory)),
        ]
    )


def _interval_rows(intervals: list[dict[str, Any] | None] | None, *, asked: bool) -> list[tuple[str, str]]:
    if intervals is None:
        return (
            [("intervals of κ", "none: only all pairs of nodes, trained until convergence, have some")] if asked else []
        )
    rows = []
    for number, each in enumerate(intervals, start=1):
        if each is None:
            continue
        low = "−∞" if each["low"] is None else f"{each['low']:.3g}"
        high = "∞" if each["high"] is None else f"{each['high']:.3g}"
        doubt = "" if each["identified"] else ", its sign is not identified"
        name = "κ" if len(intervals) == 1 else f"κ of factor {number}"
        rows.append((name, f"{each['kappa']:.3g}, objective within 1 % from {low} to {high}{doubt}; local: one seed"))
    return rows


def _stopped(reason: str, *, descends: bool) -> str:
    """The reason of the end in words; L-BFGS, which `descends`, ends by itself where it has epochs enough."""
    if reason == "epochs":
        return "not yet converged; --resume with more --epochs continues" if descends else "all of them"
    return reason
