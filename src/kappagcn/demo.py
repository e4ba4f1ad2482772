"""The demonstration: the paper's tree in three geometries, an epidemic classified, one small tree to look at."""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from kappagcn.errors import PrecisionWarning
from kappagcn.estimators import GraphEmbedder
from kappagcn.estimators.classifier import KappaGCNClassifier
from kappagcn.estimators.cross_validation import classify, load_labelled, splits_of
from kappagcn.graphs import balanced_tree, load_graph
from kappagcn.report import write_report
from kappagcn.run_folder import SavedRun

__all__ = ["Demo", "run", "show"]

SPACES = ("H10", "E10", "S10")
NETWORKS = {"E16": "GCN", "H16": "κ-GCN"}
FULL = "tree", "the paper's tree, 1365 nodes", 3  # graph, its title, splits of the epidemic
QUICK = "small_tree", "a tree of 85 nodes", 2
QUICK_EPOCHS = 100
DEPTH, BRANCHING = 5, 2
SMALL = {
    "sphere": ("S2(0.05)", 0.0),
    "plane": ("E2", 0.0),
    "learned curvature": ("S2(0.3)", 0.03),
}  # space at the start, rate of its curvature


@dataclass(frozen=True)
class Demo:
    """What came out: records of the embeddings, of the classifications and of the small tree; files written."""

    title: str
    epochs: int
    tree: list[dict[str, Any]]
    splits: int
    disease: list[dict[str, Any]]
    small: list[dict[str, Any]]
    picture: Path | None
    reports: list[Path]

    def record(self) -> dict[str, Any]:
        """As plain numbers and words."""
        files = [str(path) for path in (self.picture, *self.reports) if path is not None]
        return {
            "epochs": self.epochs,
            "tree": self.tree,
            "disease": self.disease,
            "small_tree": self.small,
            "files": files,
        }


def run(out: Path, *, seed: int, epochs: int, quick: bool = False, console: Console) -> Demo:
    """Everything, with a line about each step. Without matplotlib there is no picture.

    Args:
        out: Folder for pictures and reports.
        seed: Of whatever is drawn.
        epochs: Of the tree's embeddings; the others have theirs in proportion.
        quick: Take a smaller tree, at most 100 epochs and two splits.
        console: For lines and bars.
    """
    graph, title, splits = QUICK if quick else FULL
    epochs = min(epochs, QUICK_EPOCHS) if quick else epochs
    with tempfile.TemporaryDirectory(prefix="kappagcn-demo-") as scratch:
        runs = Path(scratch)
        console.print(f"1 of 3: {title}, in ten dimensions of three kinds")
        tree = [_embedded(graph, space, seed=seed, epochs=epochs) for space in SPACES]
        console.print("2 of 3: who was infected? an epidemic on 1000 nodes, a flat and a curved network")
        disease = [_classified(space, runs, seed=seed, epochs=epochs, splits=splits) for space in NETWORKS]
        console.print("3 of 3: a small tree in two dimensions, to look at")
        small, panels = _small(runs, seed=seed, epochs=2 * epochs)
        picture = _draw(panels, out / "tree.png")
        reports = [
            write_report(SavedRun(runs / "small-tree"), out / "tree-report.html"),
            write_report(SavedRun(runs / "disease-H16"), out / "disease-report.html"),
        ]
    return Demo(title, epochs, tree, splits, disease, small, picture, reports)


def _embedded(graph: str, space: str, *, seed: int, epochs: int) -> dict[str, Any]:
    """With the curvature held, so that a sphere stays one."""
    summary = GraphEmbedder(space, epochs=epochs, random_state=seed, curvature_lr=0.0).fit(load_graph(graph)).summary()
    return {"space": space, "curved": summary["learned_space"], "distortion": summary["distortion"]}


def _classified(space: str, runs: Path, *, seed: int, epochs: int, splits: int) -> dict[str, Any]:
    data = load_labelled("disease")
    assert data is not None
    classifier = KappaGCNClassifier(space, epochs=epochs, random_state=seed)
    folder = runs / f"disease-{space}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        summary = classify(classifier, data, splits_of("disease", data, splits), folder)
    spread = summary["interval"][1] - summary["accuracy"]
    return {"space": space, "curved": summary["learned_space"], "accuracy": summary["accuracy"], "spread": spread}


def _small(runs: Path, *, seed: int, epochs: int) -> tuple[list[dict[str, Any]], list[Any]]:
    tree = balanced_tree(DEPTH, BRANCHING)
    edges = tree.edge_index[:, tree.edge_index[0] < tree.edge_index[1]].T
    records, panels = [], []
    for name, (space, rate) in SMALL.items():
        embedder = GraphEmbedder(space, epochs=epochs, curvature_lr=rate, random_state=seed)
        embedder.fit(tree, folder=runs / "small-tree" if rate else None)
        (kappa,), distortion = embedder.curvatures_, embedder.distortion_
        records.append({"name": name, "start": space, "curvature": kappa, "distortion": distortion})
        title = f"{name}, κ = {kappa:.3g}\ndistortion {distortion:.3f}"
        panels.append((title, torch.from_numpy(embedder.tangent_), edges, kappa))
    return records, panels


def _draw(panels: list[Any], path: Path) -> Path | None:
    """The picture, if matplotlib is installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    from kappagcn.figures.embedding import draw_embeddings

    return draw_embeddings(panels, path)


def show(outcome: Demo, console: Console) -> None:
    """Two tables and what they say in words."""
    title = outcome.title[0].upper() + outcome.title[1:]
    _table(console, title, "distortion", [(r, f"{r['distortion']:.4f}") for r in outcome.tree])
    best = min(outcome.tree, key=lambda r: r["distortion"])
    flat = next(r for r in outcome.tree if r["space"] == "E10")
    console.print(_tree_words(best, flat), soft_wrap=True)
    rows = [(r, f"{r['accuracy']:.3f} ± {r['spread']:.3f}") for r in outcome.disease]
    _table(console, f"An epidemic, test accuracy over {outcome.splits} splits", "accuracy", rows)
    plain, curved = outcome.disease
    console.print(_disease_words(plain, curved), soft_wrap=True)
    learned = outcome.small[-1]
    crossed = " Its curvature started on a sphere and crossed zero." if learned["curvature"] < 0 else ""
    where = outcome.picture or "no picture without matplotlib, which pip install 'kappagcn[figures]' brings"
    console.print(f"\nA small tree to look at: {where}.{crossed}", soft_wrap=True, markup=False)
    console.print(f"Open in a browser: {' and '.join(str(path) for path in outcome.reports)}", soft_wrap=True)


def _tree_words(best: dict[str, Any], flat: dict[str, Any]) -> str:
    if best is flat:
        return "Flat space did best here; more epochs would tell the others apart."
    return (
        f"A tree is hyperbolic: in {best['curved']} its distances are kept "
        f"{flat['distortion'] / best['distortion']:.0f} times better than in flat space of the same dimension."
    )


def _disease_words(plain: dict[str, Any], curved: dict[str, Any]) -> str:
    apart = curved["accuracy"] - plain["accuracy"]
    if abs(apart) <= max(plain["spread"], curved["spread"]):
        return "Who was infected is told as well by both, within the intervals: curvature pays for distances."
    better = "The curved" if apart > 0 else "The flat"
    return f"{better} network is right {abs(apart):.1%} more often, with as many weights."


def _table(console: Console, title: str, column: str, rows: list[tuple[dict[str, Any], str]]) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("space")
    table.add_column("with its curvature")
    table.add_column(column, justify="right")
    for record, value in rows:
        name = NETWORKS.get(record["space"])
        table.add_row(f"{record['space']} ({name})" if name else record["space"], record["curved"], value)
    console.print(table)
