"""`kappagcn classify`: classes of nodes from some of them, over splits, and what that is worth on test nodes."""

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import AsJson, FileOptions, Graph, RunOptions, configure_torch, print_settings
from kappagcn.cli.output import print_rows, record_command, say
from kappagcn.estimators.settings import ClassificationSettings


@command("kappagcn classify disease --space H8xS8 --splits 2 --epochs 100 --out disease-run")
def classify(
    context: typer.Context,
    graph: Graph,
    *,
    settings: ClassificationSettings,
    splits: Annotated[int, typer.Option(min=1, max=20, help="Number of splits; several give an interval.")] = 1,
    runs: Annotated[int, typer.Option(min=1, help="Number of runs on each split, with seeds of their own.")] = 1,
    run: RunOptions,
    files: FileOptions,
    as_json: AsJson = False,
) -> None:
    """Classify the nodes of a graph from those that have labels, and say how often that is right on test nodes."""
    run.check_distributed()
    from kappagcn.estimators.classifier import KappaGCNClassifier
    from kappagcn.estimators.cross_validation import classify as cross_validate
    from kappagcn.estimators.cross_validation import splits_of

    classifier = KappaGCNClassifier(**asdict(settings))
    classifier.check()
    loaded = files.load_labelled(graph)
    divisions = splits_of(graph, loaded, splits, files.data)
    if run.dry_run:
        print_settings(context, _resolved(classifier, loaded), as_json=as_json, space=classifier.space)
        return
    configure_torch(run.threads)
    directory = run.directory(graph, settings.space)

    def report(record: dict[str, Any], done: int, count: int) -> None:
        score = f"test accuracy {record['test']['accuracy']:.3f}" if "test" in record else "no test nodes"
        say(f"{done} of {count}: split {record['split']}, run {record['run']}: {score} after {record['epochs']} epochs")

    with run.process_group(directory) as group:
        summary = cross_validate(
            classifier, loaded, divisions, directory, runs=runs, resume=run.resume, report=report, group=group
        )
    if not summary:
        return
    record_command(directory)
    if as_json:
        print(json.dumps({"run": str(directory), **summary, "graph": graph}))
        return
    print_rows(
        [
            ("space", f"{settings.space}, learned {summary['learned_space']}"),
            ("test accuracy", _accuracy(summary)),
            ("macro-averaged F1", "no test nodes" if summary["macro_f1"] is None else f"{summary['macro_f1']:.3f}"),
            ("run", str(directory)),
        ]
    )
    say(f"Predictions: kappagcn predict {directory}. Look at it: kappagcn report {directory}")


def _resolved(classifier: Any, data: Any) -> Any:
    """The settings of a classifier with those that depend on the graph."""
    from kappagcn.estimators.labelled import read_labelled
    from kappagcn.graphs.io.node_data import one_hot

    graph, _ = read_labelled(data, None, None)
    return classifier.settings(one_hot(graph.num_nodes) if graph.get("x") is None else graph.x)


def _accuracy(summary: dict[str, Any]) -> str:
    if summary["accuracy"] is None:
        return "no test nodes"
    runs = f"over {summary['splits']} splits, {summary['runs']} runs" if summary["runs"] > 1 else "on one split"
    margin = f" ± {summary['interval'][1] - summary['accuracy']:.3f}" if summary["interval"] else ""
    return f"{summary['accuracy']:.3f}{margin} {runs}, {summary['test_nodes']:,} test nodes"
