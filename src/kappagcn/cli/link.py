"""`kappagcn link`: link prediction: metrics on hidden links, and the most probable missing links."""

from pathlib import Path
from typing import Annotated, Any

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import RARE, AsJson, FileOptions, Graph, RunOptions, configure_torch, print_settings
from kappagcn.cli.output import command_line, print_result, refuse, say
from kappagcn.links.settings import LinkPredictionSettings

HIDDEN = ("labels", "label", "weight", "weights", *RARE)
SPLIT_HELP = "File with the split of the edges, npz or CSV; a line of CSV has two nodes and a part or a time."


@command(
    "kappagcn link karate --space H4 --epochs 100 --out karate-links",
    hidden=("labels", "label", "weight", "weights", *RARE),
)
def link(
    context: typer.Context,
    graph: Graph,
    *,
    settings: LinkPredictionSettings,
    run: RunOptions,
    splits: Annotated[int, typer.Option(min=1, max=20, help="Number of random splits of the edges.")] = 1,
    edge_split: Annotated[Path | None, typer.Option(help=SPLIT_HELP)] = None,
    split_time: Annotated[bool, typer.Option("--split-time", help="Test on the latest edges, by --time.")] = False,
    time: Annotated[str | None, typer.Option(help="Column of times in a table of edges, for --split-time.")] = None,
    files: FileOptions,
    as_json: AsJson = False,
) -> None:
    """Predict hidden and missing links; hide some, predict them from the others, print metrics and missing links."""
    from kappagcn.graphs import read_edge_split, time_split
    from kappagcn.links.predictor import KappaGCNLinkPredictor
    from kappagcn.links.validation import link_splits, predict_links

    predictor = KappaGCNLinkPredictor.from_settings(settings, command_line())
    given = "--edge-split" if edge_split is not None else "--split-time"
    if (edge_split is not None or split_time) and splits > 1:
        raise refuse(f"--splits: expected 1 beside {given}, found {splits}.")
    if split_time != (time is not None) or (split_time and edge_split is not None):
        raise refuse("expected --split-time and --time COLUMN together, and without --edge-split, found others.")
    for name in ("validation", "test") if edge_split is not None else ():
        if getattr(settings, name) != getattr(LinkPredictionSettings, name):
            raise refuse(f"--{name}: expected no share of edges beside --edge-split, found {getattr(settings, name)}.")
    directory = run.directory(graph, f"links-{settings.space}")
    loaded = files.load(graph, time=time)
    if run.dry_run:
        print_settings(context, predictor.settings(loaded.get("x")), as_json=as_json, space=predictor.space)
        return
    if split_time:
        seed, validation, test = predictor.random_state, predictor.validation, predictor.test
        divisions = [time_split(loaded, seed=seed, validation=validation, test=test)]
    elif edge_split is None:
        divisions = link_splits(predictor, loaded, splits)
    else:
        divisions = [read_edge_split(edge_split, loaded, seed=predictor.random_state)]
    configure_torch(run.threads)

    def report(record: dict[str, Any], done: int, count: int) -> None:
        score = f"test AUC {record['test']['roc_auc']:.3f}" if "test" in record else "no test edges"
        say(f"{done} of {count}: {record['split_name']}: {score} after {record['epochs']} epochs")

    with run.process_group(directory) as group:
        summary = predict_links(predictor, loaded, divisions, directory, resume=run.resume, report=report, group=group)
    if not summary:
        return
    print_result({"run": str(directory), **summary, **summary["metrics"], "graph": graph}, result_rows, as_json)
    if as_json:
        return
    say(f"Missing links: kappagcn predict {directory} --top 100. Look at it: kappagcn report {directory}")


def result_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """A summary as rows of names and values."""
    words = {"roc_auc": "ROC AUC", "average_precision": "average precision", "hits@10": "hits@10", "mrr": "MRR"}
    rows = [("space", f"{summary['space']}, learned {summary['learned_space']}")]
    for name, word in words.items():
        if name in summary["metrics"] and (name != "hits@10" or summary["test_pairs"] >= 20):  # else always 1
            low, high = summary["intervals"][name]
            rows.append((word, f"{summary['metrics'][name]:.3f} (95 % interval {low:.3f} to {high:.3f})"))
    if summary["edge_weights"] is not None:
        rows.append(("edge weights", summary["edge_weights"]))
    rows += [(f"AUC of {name}", f"{each['roc_auc']:.3f}") for name, each in summary["baselines"].items()]
    return [*rows, ("result", summary["verdict"])]
