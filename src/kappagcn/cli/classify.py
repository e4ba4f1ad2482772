"""`kappagcn classify`: train a node classifier on one or more splits, and evaluate it on test nodes."""

import os
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.cli.app import command
from kappagcn.cli.options import RARE, AsJson, FileOptions, Graph, RunOptions, configure_torch, print_settings
from kappagcn.cli.output import command_line, print_result, refuse, say

STRATEGY_HELP = (
    "How to train on a folder without reading it whole: mini-batches with sampled neighbours, shared by the processes "
    "of torchrun; or all nodes in every step, each process on the rows of its part (halo)."
)


Strategy = StrEnum("Strategy", ["batches", "halo"])


@command("kappagcn classify disease --space H8xS8 --epochs 100 --out disease-run", hidden=("weight", "weights", *RARE))
def classify(
    context: typer.Context,
    graph: Graph,
    *,
    settings: ClassificationSettings,
    splits: Annotated[
        int, typer.Option(min=1, max=20, help="Number of splits; the interval then covers splits and seeds.")
    ] = 1,
    runs: Annotated[
        int, typer.Option(hidden=True, min=1, help="Number of runs on each split, each with its seed.")
    ] = 1,
    split: Annotated[
        list[Path] | None,
        typer.Option(help="File with your own split; JSON, npz or CSV (node, part); repeat it for more splits."),
    ] = None,
    no_baselines: Annotated[
        bool, typer.Option("--no-baselines", hidden=True, help="Train no baselines to compare the accuracy with.")
    ] = False,
    strategy: Annotated[Strategy | None, typer.Option(hidden=True, help=STRATEGY_HELP)] = None,
    run: RunOptions,
    files: FileOptions,
    as_json: AsJson = False,
) -> None:
    """Classify nodes, given the labels of some; print accuracy on test nodes, baselines, and a verdict."""
    from kappagcn.classification.classifier import KappaGCNClassifier

    classifier = KappaGCNClassifier.from_settings(settings, command_line())
    directory = run.directory(graph, settings.space)
    if _is_read_by_rows(graph, settings, strategy):
        from kappagcn.classification.large import classify_folder

        if splits * runs > 1 or split or files.tables or run.dry_run:
            raise refuse("expected one run on the split of the folder, found --splits, --runs, --split or files.")
        train = partial(classify_folder, classifier, graph, directory, strategy=strategy or "batches")
    else:
        from kappagcn.classification.baselines import compare
        from kappagcn.classification.cross_validation import classify as cross_validate
        from kappagcn.classification.cross_validation import splits_of
        from kappagcn.graphs import read_split

        if strategy is not None:
            raise refuse(f"--strategy: expected a folder of kappagcn data convert beside it, found {graph}.")
        if split and splits > 1:
            raise refuse(f"--splits: expected 1 beside --split, found {splits}. Repeat --split for more splits.")
        loaded = files.load_labelled(graph)
        own = [read_split(path, loaded) for path in split or []]
        divisions = own or splits_of(graph, loaded, splits, files.data)
        if run.dry_run:
            print_settings(context, _resolved(classifier, loaded), as_json=as_json, space=classifier.space)
            return
        baselines = None if no_baselines else partial(compare, classifier, loaded, divisions, directory, say, runs)
        train = partial(cross_validate, classifier, loaded, divisions, directory, runs=runs)
        train = partial(train, report=_report, baselines=baselines)
    configure_torch(run.threads)
    with run.process_group(directory) as group:
        summary = train(resume=run.resume, group=group)
    if summary:
        print_result({"run": str(directory), **summary, "graph": graph}, result_rows, as_json)
        if not as_json and "processes" not in summary:
            say(f"Predictions: kappagcn predict {directory}. Look at it: kappagcn report {directory}")


def _report(record: dict[str, Any], done: int, count: int) -> None:
    score = f"test accuracy {record['test']['accuracy']:.3f}" if "test" in record else "no test nodes"
    say(f"{done} of {count}: split {record['split']}, run {record['run']}: {score} after {record['epochs']} epochs")


def _is_read_by_rows(graph: str, settings: ClassificationSettings, strategy: Strategy | None) -> bool:
    """Whether a graph is a folder that is not to be read whole: for batches, or for several processes."""
    from kappagcn.graphs.io.folder import is_graph_folder

    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    return is_graph_folder(Path(graph)) and (strategy is not None or settings.batch_size is not None or several)


def _resolved(classifier: Any, data: Any) -> Any:
    """The settings of a classifier, with those that depend on the graph filled in."""
    from kappagcn.graphs.io.node_data import one_hot
    from kappagcn.training.labelled import read_labelled, unlabelled

    graph, labels = read_labelled(data, None, None)
    known = 0 if labels is None else int((~unlabelled(labels)).sum())
    return classifier.settings(one_hot(graph.num_nodes) if graph.get("x") is None else graph.x, known)


def _measures(record: dict[str, Any]) -> str:
    """Metrics other than the accuracy, if there are any."""
    names = {"balanced_accuracy": "balanced accuracy", "macro_f1": "macro F1", "auc": "AUC"}
    return ", ".join(f"{title} {record[name]:.3f}" for name, title in names.items() if record.get(name) is not None)


def _beside(summary: dict[str, Any], name: str) -> str:
    """Accuracy of a baseline, the interval of the difference to it, and its other measures."""
    each, difference = summary["baselines"][name], summary["differences"][name]
    low, high = (f"{end:+.3f}".replace("-", "−") for end in difference["interval"])
    return f"{each['accuracy']:.3f}; this run less it {low} to {high}; {_measures(each)}"


def result_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The summary of a classification as rows of names and values."""
    rows = [("model", summary["model"]), ("space", f"{summary['space']}, learned {summary['learned_space']}")]
    if summary["accuracy"] is None:
        rows.append(("test accuracy", "no test nodes"))
    else:
        several = summary.get("runs", 1) > 1
        runs = f"over {summary['splits']} splits, {summary['runs']} runs" if several else "on one split"
        rows.append(("test accuracy", f"{summary['accuracy']:.3f} {runs}, {summary['test_nodes']:,} test nodes"))
        if "interval" in summary:
            low, high = summary["interval"]
            rows.append(("95 % interval", f"{low:.3f} to {high:.3f}, for {summary['interval_covers']}"))
        rows.append(("other measures", _measures(summary)))
    rows += [("edge weights", summary["edge_weights"])] if summary.get("edge_weights") else []
    rows += [(f"baseline {name}", _beside(summary, name)) for name in summary.get("baselines", ())]
    rows += [("verdict", summary["verdict"])] if summary.get("verdict") else []
    if "processes" not in summary:
        return rows
    graph = ("graph", f"{summary['report']}; {summary['processes']} processes")
    return [graph, *rows, ("predictions", f"{summary['run']}/predictions.npz")]
