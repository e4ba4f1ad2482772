"""`kappagcn predict`: labels and probabilities from a saved run, also for nodes it has not seen."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from kappagcn.cli.common import AsJson, DataFolder, Features, Header, Labels, command, load, make, refuse, say


@command("kappagcn predict disease-run")
def predict(
    run: Annotated[Path, typer.Argument(help="Folder of a run of kappagcn classify.")],
    graph: Annotated[
        str | None, typer.Argument(help="Another graph with the same features; the run's own by default.")
    ] = None,
    features: Features = None,
    labels: Labels = None,
    header: Header = None,
    out: Annotated[Path | None, typer.Option(help="Folder for predictions.csv, instead of standard output.")] = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print for every node a label, the one that was given, and the probabilities of all classes, as CSV."""
    from kappagcn.run_folder import SavedRun

    saved = SavedRun(run)
    if saved.kind != "classification":
        raise refuse(f"{run}: expected a run of kappagcn classify, found an embedding, which predicts nothing.")
    if graph is None and (features or labels):
        raise refuse("expected features and labels only beside a graph, found them alone.")
    if graph is not None and saved.summary.get("features") is False:
        raise refuse(
            f"{run}: expected a run with features to predict for a graph, found one without, which knows the nodes of "
            f"its own graph only: kappagcn predict {run}"
        )
    if out is not None:
        make(out)
    names, classes, given, probabilities = (
        _stored(saved) if graph is None else _new(run, graph, features, labels, header, data)
    )
    places = probabilities.argmax(1)
    if as_json:
        rows = zip(names, places, given, probabilities.tolist(), strict=True)
        nodes = [{"node": n, "label": classes[p], "given": g or None, "probabilities": row} for n, p, g, row in rows]
        print(json.dumps({"classes": classes, "nodes": nodes}, ensure_ascii=False))
    text = _csv(names, classes, places, given, probabilities)
    if out is not None:
        from kappagcn.io_atomic import atomic_write

        with atomic_write(out / "predictions.csv") as file:
            file.write(text.encode())
        say(f"{len(names)} predictions: {out / 'predictions.csv'}")
    elif not as_json:
        print(text, end="")


Predicted = tuple[list[str], list[str], list[str], Any]  # nodes, classes, labels that were given, probabilities


def _stored(saved: Any) -> Predicted:
    embedded = saved.embedded
    if embedded.probabilities is None or embedded.labels is None:
        raise refuse(f"{saved.path}: expected labels and probabilities in embedding.npz, found none.")
    names, classes = [embedded.name(i) for i in range(len(embedded.probabilities))], embedded.class_names.tolist()
    return names, classes, [classes[i] if i >= 0 else "" for i in embedded.labels], embedded.probabilities


def _new(
    run: Path, graph: str, features: str | None, labels: str | None, header: bool | None, data: Path | None
) -> Predicted:
    """Predictions for another graph; where that has labels, how many are right."""
    from kappagcn.errors import KappaGCNError
    from kappagcn.estimators.classifier import KappaGCNClassifier
    from kappagcn.estimators.cross_validation import load_labelled

    classifier = KappaGCNClassifier.load(run / "model.safetensors")
    loaded = None if features or labels else load_labelled(graph, data)
    if loaded is None:
        loaded = load(graph, data, features, labels, header)
    probabilities = classifier.predict_proba(loaded)
    if loaded.get("y") is not None and bool((loaded.y >= 0).any()):
        known = (loaded.y >= 0).nonzero().flatten().tolist()
        try:
            score = classifier.score(loaded, nodes=known)
            say(f"accuracy on the {len(known)} nodes that have a label: {score:.3f}; those that trained count too")
        except KappaGCNError as problem:
            say(f"kappagcn: no accuracy: {problem}")
    names = loaded.get("node_names")
    own = [str(name) for name in (range(loaded.num_nodes) if names is None else names)]
    words = loaded.get("class_names")
    given = [""] * len(own) if loaded.get("y") is None else [_word(int(i), words) for i in loaded.y]
    return own, [str(name) for name in classifier.classes_], given, probabilities


def _word(label: int, names: Any) -> str:
    return "" if label < 0 else str(label if names is None else names[label])


def _csv(names: list[str], classes: list[str], places: Any, given: list[str], probabilities: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["node", "label", "given", *(f"p({name})" for name in classes)])
    for name, place, known, row in zip(names, places, given, probabilities, strict=True):
        writer.writerow([name, classes[place], known, *(f"{p:.6f}" for p in row)])
    return text.getvalue()
