"""`kappagcn predict`: labels and probabilities from a saved run, also for new nodes; probabilities of links."""

import csv
import io
import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import AsJson, FileOptions
from kappagcn.cli.output import make_folder, refuse, say

DEFAULT_TOP = 10
LINK = ("source", "target", "probability")


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
        links = _links(run, pairs, top, files.header)
        record: dict[str, Any] = {"links": [dict(zip(LINK, row, strict=True)) for row in links]}
        _write(record, LINK, links, "pairs", None if out is None else make_folder(out) / "links.csv", as_json=as_json)
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
    path = None if out is None else make_folder(out) / "predictions.csv"
    nodes, classes, labels, probabilities = _stored(saved) if graph is None else _predict(run, graph, files)
    predicted = [classes[place] for place in probabilities.argmax(1)]
    rows = list(zip(nodes, predicted, labels, probabilities.tolist(), strict=True))
    record = {
        "classes": classes,
        "nodes": [{"node": n, "label": p, "given": y or None, "probabilities": row} for n, p, y, row in rows],
    }
    header = ("node", "label", "given", *(f"p({name})" for name in classes))
    _write(record, header, [(n, p, y, *row) for n, p, y, row in rows], "predictions", path, as_json=as_json)


def _write(
    record: dict[str, Any], header: tuple[str, ...], rows: list[Any], what: str, path: Path | None, *, as_json: bool
) -> None:
    """Print predictions as JSON, or rows as CSV, which also go into a file."""
    if as_json:
        print(json.dumps(record, ensure_ascii=False))
    elif path is None:
        print(_csv(header, rows), end="")
    if path is not None:
        from kappagcn.io_atomic import atomic_write

        with atomic_write(path) as file:
            file.write(_csv(header, rows).encode())
        say(f"{len(rows)} {what}: {path}")


def _csv(header: tuple[str, ...], rows: list[Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([f"{value:.6f}" if isinstance(value, float) else value for value in row] for row in rows)
    return text.getvalue()


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


def _links(run: Path, file: Path | None, top: int | None, header: bool | None) -> list[tuple[str, str, float]]:
    """Pairs of a file with their probabilities, or the most probable missing links."""
    from kappagcn.graphs.io.edges import read_pairs
    from kappagcn.links.predictor import KappaGCNLinkPredictor
    from kappagcn.run_folder import read_json

    if file is not None and top is not None:
        raise refuse("expected --pairs or --top, found both.")
    verdict = str(read_json(run / "summary.json").get("verdict", ""))
    if verdict.startswith(("not better than chance", "too few test edges", "no test edges")):
        say(f"Do not rely on these: {verdict}")
    predictor = KappaGCNLinkPredictor.load(run / "model.safetensors")
    if file is None:
        return [(str(source), str(target), p) for source, target, p in predictor.top_links(top or DEFAULT_TOP)]
    names = list(predictor.node_index())
    ends = read_pairs(file, predictor.node_index(), header=header).pairs.t()
    loops = ends[ends[:, 0] == ends[:, 1]]
    if len(loops):
        name = names[int(loops[0, 0])]
        raise refuse(f"{file}: expected two different nodes in each pair, found {name!r} paired with itself.")
    probabilities = predictor.predict_proba(ends).tolist()
    return [(names[i], names[j], p) for (i, j), p in zip(ends.tolist(), probabilities, strict=True)]
