"""`kappagcn classify`: train a node classifier on one or more splits, and evaluate it on test nodes."""

import json
import os
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.cli.app import command
from kappagcn.cli.options import RARE, AsJson, FileOptions, Graph, RunOptions, configure_torch, print_settings
from kappagcn.cli.output import command_line, print_rows, refuse, say

STRATEGY_HELP = (
    "How to train on a folder without reading it whole: mini-batches with sampled neighbours, shared by the processes "
    "of torchrun; or all nodes in every step, each process on the rows of its part (halo)."
)


class Strategy(StrEnum):
    """Ways to train on a folder."""

    batches = "batches"
    halo = "halo"


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
    from kappagcn.classification.baselines import compare
    from kappagcn.classification.classifier import KappaGCNClassifier
    from kappagcn.classification.cross_validation import classify as cross_validate
    from kappagcn.classification.cross_validation import splits_of
    from kappagcn.graphs import read_split

    classifier = KappaGCNClassifier.from_settings(settings, command_line())
    directory = run.directory(graph, settings.space)
    if _is_read_by_rows(graph, settings, strategy):
        if splits * runs > 1 or split or files.tables or run.dry_run:
            raise refuse("expected one run on the split of the folder, found --splits, --runs, --split or files.")
        _classify_folder(classifier, graph, run, directory, strategy or "batches", as_json)
        return
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
    configure_torch(run.threads)

    def report(record: dict[str, Any], done: int, count: int) -> None:
        score = f"test accuracy {record['test']['accuracy']:.3f}" if "test" in record else "no test nodes"
        say(f"{done} of {count}: split {record['split']}, run {record['run']}: {score} after {record['epochs']} epochs")

    baselines = None if no_baselines else partial(compare, classifier, loaded, divisions, directory, say, runs)
    with run.process_group(directory) as group:
        summary = cross_validate(
            classifier,
            loaded,
            divisions,
            directory,
            runs=runs,
            resume=run.resume,
            report=report,
            group=group,
            baselines=baselines,
        )
    if not summary:
        return
    if as_json:
        print(json.dumps({"run": str(directory), **summary, "graph": graph}))
        return
    print_rows(
        [
            ("model", settings.model),
            ("space", f"{settings.space}, learned {summary['learned_space']}"),
            ("test accuracy", _accuracy(summary)),
            *([] if summary["accuracy"] is None else [("95 % interval", _interval(summary))]),
            *([] if summary["accuracy"] is None else [("other measures", _measures(summary))]),
            *([] if summary["edge_weights"] is None else [("edge weights", summary["edge_weights"])]),
            *((f"baseline {name}", _beside(summary, name)) for name in summary["baselines"]),
            *([("verdict", summary["verdict"])] if summary["verdict"] else []),
            ("run", str(directory)),
        ]
    )
    say(f"Predictions: kappagcn predict {directory}. Look at it: kappagcn report {directory}")


def _is_read_by_rows(graph: str, settings: ClassificationSettings, strategy: Strategy | None) -> bool:
    """Whether a graph is a folder that is not to be read whole: for batches, or for several processes."""
    from kappagcn.graphs.io.folder import is_graph_folder

    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    return is_graph_folder(Path(graph)) and (strategy is not None or settings.batch_size is not None or several)


def _classify_folder(
    classifier: Any, graph: str, run: RunOptions, directory: Path, strategy: str, as_json: bool
) -> None:
    """Train on a folder, of which each process reads the rows that it needs."""
    from kappagcn.classification.large import classify_folder

    configure_torch(run.threads)
    with run.process_group(directory) as group:
        summary = classify_folder(classifier, graph, directory, strategy=strategy, resume=run.resume, group=group)
    if not summary:
        return
    if as_json:
        print(json.dumps({"run": str(directory), **summary}))
        return
    accuracy = "no test nodes"
    if summary["accuracy"] is not None:
        accuracy = f"{summary['accuracy']:.3f}, {summary['test_nodes']:,} test nodes"
    print_rows(
        [
            ("graph", f"{summary['report']}; {summary['processes']} processes"),
            ("space", f"{summary['space']}, learned {summary['learned_space']}"),
            ("test accuracy", accuracy),
            ("other measures", _measures(summary)),
            ("predictions", str(directory / "predictions.npz")),
            ("run", str(directory)),
        ]
    )


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


def _accuracy(summary: dict[str, Any]) -> str:
    if summary["accuracy"] is None:
        return "no test nodes"
    runs = f"over {summary['splits']} splits, {summary['runs']} runs" if summary["runs"] > 1 else "on one split"
    return f"{summary['accuracy']:.3f} {runs}, {summary['test_nodes']:,} test nodes"


def _interval(summary: dict[str, Any]) -> str:
    low, high = summary["interval"]
    return f"{low:.3f} to {high:.3f}, for {summary['interval_covers']}"
