"""`kappagcn classify`: classes of nodes from some of them, over splits, and what that is worth on test nodes."""

from __future__ import annotations

import json
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
    prepare,
    print_rows,
    print_settings,
    process_group_of,
    refuse,
    run_folder,
    say,
    settings,
)
from kappagcn.cli.embed import number


@command("kappagcn classify disease --space H8xS8 --splits 2 --epochs 100 --out disease-run")
def classify(
    context: typer.Context,
    graph: Graph,
    space: Annotated[str, typer.Option(help="Signature, such as H16, S16, H8xS8, or E16 for a GCN.")] = "H16",
    splits: Annotated[int, typer.Option(min=1, max=20, help="Divisions of the nodes; several give an interval.")] = 1,
    runs: Annotated[int, typer.Option(min=1, help="Runs on each split, with seeds of their own.")] = 1,
    layers: Annotated[int, typer.Option(min=1, help="Hidden layers.")] = 1,
    normalize: Annotated[str, typer.Option(help="Of features: rows, lengths, columns, none, auto.")] = "auto",
    scale: Annotated[float, typer.Option(help="Features are multiplied by it.")] = 1.0,
    dropout: Annotated[str, typer.Option(help="Of hidden rows; a number or auto.")] = "auto",
    adjacency_dropout: Annotated[float, typer.Option(help="Of edges.")] = 0.0,
    dropconnect: Annotated[float, typer.Option(help="Of weights.")] = 0.0,
    l2: Annotated[str, typer.Option(help="Weight of the first layer's squares; a number or auto.")] = "auto",
    lr: Annotated[float, typer.Option(help="Of the weights.")] = 0.01,
    curvature_lr: Annotated[float, typer.Option(help="Of the curvatures; 0 keeps them.")] = 0.01,
    epochs: Annotated[int, typer.Option(min=1, help="At most so many.")] = 2000,
    patience: Annotated[int, typer.Option(min=1, help="Epochs without a lower loss before training stops.")] = 200,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Training nodes in a batch, for graphs too large to train as a whole.")
    ] = None,
    neighbours: Annotated[
        str, typer.Option(help="With batches: at most so many of each node, -1 for all; or one number a hop: 10,5.")
    ] = "10",
    seed: Seed = 0,
    threads: Threads = None,
    distributed: Distributed = False,
    timeout: Timeout = 60.0,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; runs/GRAPH-SPACE by default.")] = None,
    resume: Resume = False,
    dry_run: DryRun = False,
    config: Config = None,
    features: Features = None,
    labels: Labels = None,
    header: Header = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Classify the nodes of a graph from those that have labels, and say how often that is right on test nodes."""
    check_distributed(distributed)
    from kappagcn.estimators.classifier import KappaGCNClassifier
    from kappagcn.estimators.cross_validation import classify as run
    from kappagcn.estimators.cross_validation import labelled, splits_of

    classifier = KappaGCNClassifier(
        space,
        layers=layers,
        normalize=normalize,
        scale=scale,
        dropout=number(dropout, "dropout"),
        adjacency_dropout=adjacency_dropout,
        dropconnect=dropconnect,
        l2=number(l2, "l2"),
        lr=lr,
        curvature_lr=curvature_lr,
        epochs=epochs,
        patience=patience,
        batch_size=batch_size,
        neighbours=_hops(neighbours),
        seed=seed,
    )
    classifier.check()
    found = None if features or labels else labelled(graph, data)
    if found is None:
        found = load(graph, data, features, labels, header)
    divisions = splits_of(graph, found, splits, data)
    if dry_run:
        print_settings(settings(context, **_resolved(classifier, found)), as_json=as_json)
        return
    prepare(threads)
    folder = run_folder(out, graph, space)

    def report(record: dict[str, Any], done: int, count: int) -> None:
        score = "no test nodes" if record["accuracy"] is None else f"test accuracy {record['accuracy']:.3f}"
        say(f"{done} of {count}: split {record['split']}, run {record['run']}: {score} after {record['epochs']} epochs")

    with process_group_of(distributed, timeout, folder) as group:
        summary = run(classifier, found, divisions, folder, runs=runs, resume=resume, report=report, group=group)
    if not summary:
        return
    if as_json:
        print(json.dumps({"run": str(folder), **summary, "graph": graph}))
        return
    print_rows(
        [
            ("space", f"{space}, learned {summary['learned_space']}"),
            ("test accuracy", _accuracy(summary)),
            ("macro-averaged F1", "no test nodes" if summary["macro_f1"] is None else f"{summary['macro_f1']:.3f}"),
            ("run", str(folder)),
        ]
    )
    say(f"Predictions: kappagcn predict {folder}. Look at it: kappagcn report {folder}")


def _hops(words: str) -> int | list[int]:
    """One number, or one for each hop."""
    try:
        found = [int(word) for word in words.split(",")]
    except ValueError:
        raise refuse(f"--neighbours: expected a number or some with commas between them, found {words!r}.") from None
    return found[0] if len(found) == 1 else found


def _resolved(classifier: Any, data: Any) -> dict[str, Any]:
    """What auto comes to for a graph."""
    from kappagcn.estimators.labelled import read_labelled
    from kappagcn.graphs.io.node_data import one_hot

    found, _ = read_labelled(data, None, None)
    if found.get("x") is None:
        found.x = one_hot(found.num_nodes)
    told = classifier.experiment(found)
    return {"normalize": told.features.normalize, "dropout": told.options["dropout"], "l2": told.training.l2}


def _accuracy(summary: dict[str, Any]) -> str:
    if summary["accuracy"] is None:
        return "no test nodes"
    over = f"over {summary['splits']} splits, {summary['runs']} runs" if summary["runs"] > 1 else "on one split"
    spread = f" ± {summary['interval'][1] - summary['accuracy']:.3f}" if summary["interval"] else ""
    return f"{summary['accuracy']:.3f}{spread} {over}, {summary['test_nodes']:,} test nodes"
