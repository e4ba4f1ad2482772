"""`kappagcn predict`: labels and probabilities from a saved run, also for new nodes; missing links."""

import csv
import io
import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import AsJson, FileOptions
from kappagcn.cli.output import make_folder, refuse, say
from kappagcn.cli.predict_links import predict_links


class Predictions(NamedTuple):
    """Names of nodes and classes, the nodes' own labels ("" where unknown), and probabilities (N, C)."""

    nodes: list[str]
    classes: list[str]
    labels: list[str]
    probabilities: Any


@command("kappagcn predict disease-run")
def predict(
    run: Annotated[Path, typer.Argument(help="Run directory of kappagcn classify or link.")],
    graph: Annotated[
        str | None, typer.Argument(help="Another graph with the same features; the run's own by default.")
    ] = None,
    *,
    files: FileOptions,
    pairs: Annotated[Path | None, typer.Option(help="File with pairs of nodes, for a run of kappagcn link.")] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Number of missing links, for a run of kappagcn link; 10 by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the CSV file, instead of standard output.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print classes of nodes or missing links, with probabilities."""
    from kappagcn.run_folder import SavedRun

    saved = SavedRun(run)
    if saved.kind == "links":
        if graph is not None or files.tables:
            raise refuse(f"{run}: expected --pairs or --top for links of its own graph, found another graph.")
        predict_links(run, pairs, top, out, header=files.header, as_json=as_json)
        return
    if pairs is not None or top is not None:
        raise refuse(f"{run}: expected a run of kappagcn link for --pairs and --top, found one of another kind.")
    if saved.kind != "classification":
        raise refuse(f"{run}: expected a run of kappagcn classify or link, found an embedding without predictions.")
    if graph is None and files.tables:
        raise refuse("expected features and labels only beside a graph, found them alone.")
    if graph is not None and saved.summary.get("features") is False:
        raise refuse(
            f"{run}: expected a run with features to predict for a graph, found one without, which can predict for "
            f"its own graph only: kappagcn predict {run}"
        )
    if out is not None:
        make_folder(out)
    predictions = _stored(saved) if graph is None else _predict(run, graph, files)
    nodes, classes, labels, probabilities = predictions
    places = probabilities.argmax(1)
    if as_json:
        rows = zip(nodes, places, labels, probabilities.tolist(), strict=True)
        records = [{"node": n, "label": classes[p], "given": y or None, "probabilities": row} for n, p, y, row in rows]
        print(json.dumps({"classes": classes, "nodes": records}, ensure_ascii=False))
    if out is not None:
        from kappagcn.io_atomic import atomic_write

        with atomic_write(out / "predictions.csv") as file:
            file.write(_csv(predictions).encode())
        say(f"{len(nodes)} predictions: {out / 'predictions.csv'}")
    elif not as_json:
        print(_csv(predictions), end="")


def _stored(saved: Any) -> Predictions:
    """The predictions in a run directory."""
    embedded = saved.embedded
    if embedded.probabilities is None or embedded.labels is None:
        raise refuse(f"{saved.path}: expected labels and probabilities in embedding.npz, found none.")
    nodes, classes = [embedded.name(i) for i in range(len(embedded.probabilities))], embedded.class_names.tolist()
    return Predictions(nodes, classes, [classes[i] if i >= 0 else "" for i in embedded.labels], embedded.probabilities)


def _predict(run: Path, graph: str, files: FileOptions) -> Predictions:
    """Predictions for another graph; if it has labels, print the accuracy."""
    from kappagcn.classification.classifier import KappaGCNClassifier
    from kappagcn.errors import KappaGCNError

    classifier = KappaGCNClassifier.load(run / "model.safetensors")
    data = files.load_labelled(graph, classifier.column_rules_)
    probabilities = classifier.predict_proba(data)
    y = [-1] * data.num_nodes if data.get("y") is None else data.y.tolist()
    if known := [node for node, label in enumerate(y) if label >= 0]:
        try:
            score = classifier.score(data, nodes=known)
            say(f"accuracy on the {len(known)} nodes that have a label: {score:.3f}; training nodes included")
        except KappaGCNError as error:
            say(f"kappagcn: no accuracy: {error}")
    nodes = [str(name) for name in (data.get("node_names") or range(data.num_nodes))]
    class_names = data.get("class_names") or range(max(y, default=0) + 1)
    labels = [str(class_names[label]) if label >= 0 else "" for label in y]
    return Predictions(nodes, [str(name) for name in classifier.classes_], labels, probabilities)


def _csv(predictions: Predictions) -> str:
    nodes, classes, labels, probabilities = predictions
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["node", "label", "given", *(f"p({name})" for name in classes)])
    for node, place, label, row in zip(nodes, probabilities.argmax(1), labels, probabilities, strict=True):
        writer.writerow([node, classes[place], label, *(f"{p:.6f}" for p in row)])
    return text.getvalue()
