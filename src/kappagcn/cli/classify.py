"""`kappagcn classify`: classes of nodes from some of them, over splits, and what that is worth on test nodes."""

from __future__ import annotations

import json
from dataclasses import asdict
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
    Threads,
    Timeout,
    all_settings,
    check_distributed,
    command,
    load,
    prepare,
    print_rows,
    print_settings,
    process_group_of,
    run_folder,
    say,
)
from kappagcn.cli.setting_options import resolved_flags
from kappagcn.estimators.settings import ClassificationSettings


@command(
    "kappagcn classify disease --space H8xS8 --splits 2 --epochs 100 --out disease-run",
    settings=ClassificationSettings,
)
def classify(
    context: typer.Context,
    graph: Graph,
    settings: ClassificationSettings,
    splits: Annotated[int, typer.Option(min=1, max=20, help="Divisions of the nodes; several give an interval.")] = 1,
    runs: Annotated[int, typer.Option(min=1, help="Runs on each split, with seeds of their own.")] = 1,
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
    from kappagcn.estimators.cross_validation import load_labelled, splits_of

    classifier = KappaGCNClassifier(**asdict(settings))
    classifier.check()
    loaded = None if features or labels else load_labelled(graph, data)
    if loaded is None:
        loaded = load(graph, data, features, labels, header)
    divisions = splits_of(graph, loaded, splits, data)
    if dry_run:
        print_settings(all_settings(context, **_resolved(classifier, loaded)), as_json=as_json)
        return
    prepare(threads)
    folder = run_folder(out, graph, settings.space)

    def report(record: dict[str, Any], done: int, count: int) -> None:
        score = f"test accuracy {record['test']['accuracy']:.3f}" if "test" in record else "no test nodes"
        say(f"{done} of {count}: split {record['split']}, run {record['run']}: {score} after {record['epochs']} epochs")

    with process_group_of(distributed, timeout, folder) as group:
        summary = run(classifier, loaded, divisions, folder, runs=runs, resume=resume, report=report, group=group)
    if not summary:
        return
    if as_json:
        print(json.dumps({"run": str(folder), **summary, "graph": graph}))
        return
    print_rows(
        [
            ("space", f"{settings.space}, learned {summary['learned_space']}"),
            ("test accuracy", _accuracy(summary)),
            ("macro-averaged F1", "no test nodes" if summary["macro_f1"] is None else f"{summary['macro_f1']:.3f}"),
            ("run", str(folder)),
        ]
    )
    say(f"Predictions: kappagcn predict {folder}. Look at it: kappagcn report {folder}")


def _resolved(classifier: Any, data: Any) -> dict[str, Any]:
    """All settings for a graph by flag; the space is as it was given."""
    from kappagcn.estimators.labelled import read_labelled
    from kappagcn.graphs.io.node_data import one_hot

    graph, _ = read_labelled(data, None, None)
    x = one_hot(graph.num_nodes) if graph.get("x") is None else graph.x
    return {**resolved_flags(classifier.settings(x)), "space": classifier.space}


def _accuracy(summary: dict[str, Any]) -> str:
    if summary["accuracy"] is None:
        return "no test nodes"
    over = f"over {summary['splits']} splits, {summary['runs']} runs" if summary["runs"] > 1 else "on one split"
    spread = f" ± {summary['interval'][1] - summary['accuracy']:.3f}" if summary["interval"] else ""
    return f"{summary['accuracy']:.3f}{spread} {over}, {summary['test_nodes']:,} test nodes"
