"""The demonstration: the paper's tree in three geometries, a classified epidemic, and a picture of a small tree."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.cross_validation import classify, load_labelled, splits_of
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.errors import PrecisionWarning
from kappagcn.graphs import balanced_tree, load_graph
from kappagcn.run_folder import SavedRun
from kappagcn.view.figures.embedding import draw_embeddings
from kappagcn.view.report import write_report

Record = dict[str, Any]
SPACES = ("H10", "E10", "S10")
NETWORKS = {"E16": "GCN", "H16": "κ-GCN"}
FULL = "tree", "the paper's tree, 1365 nodes", 3  # graph, its title, splits of the epidemic
QUICK = "small_tree", "a tree of 85 nodes", 2
QUICK_EPOCHS = 100
SMALL_EPOCHS = 60  # κ is then near −1.2, where the disk still shows the whole tree
DEPTH, BRANCHING = 5, 2
SMALL: dict[str, tuple[str, float | str]] = {
    "sphere": ("S2(0.05)", 0.0),
    "plane": ("E2", 0.0),
    "learned curvature": ("S2(0.3)", "auto"),
}  # initial space, learning rate of its curvature


@dataclass(frozen=True)
class Demo:
    """Results: records of the embeddings, of the classifications and of the small tree; files written."""

    title: str
    epochs: int
    tree: list[Record]
    splits: int
    disease: list[Record]
    small: list[Record]
    picture: Path
    reports: list[Path]

    def record(self) -> Record:
        """The results as plain numbers and words."""
        files = [str(path) for path in (self.picture, *self.reports)]
        results = {"tree": self.tree, "disease": self.disease, "small_tree": self.small}
        return {"epochs": self.epochs, **results, "files": files}


def run(out: Path, *, seed: int, epochs: int, quick: bool = False, console: Console) -> Demo:
    """Run all parts, with a line about each.

    Args:
        out: Folder for pictures and reports.
        seed: Seed of all random numbers.
        epochs: Epochs of the tree's embeddings, and of the networks in proportion.
        quick: Take a smaller tree, at most 100 epochs and two splits.
        console: Console for messages and progress bars.
    """
    graph, title, splits = QUICK if quick else FULL
    epochs = min(epochs, QUICK_EPOCHS) if quick else epochs
    with tempfile.TemporaryDirectory(prefix="kappagcn-demo-") as scratch:
        runs = Path(scratch)
        console.print(f"1 of 3: {title}, in ten dimensions of three kinds")
        tree = [_embed(graph, space, seed=seed, epochs=epochs) for space in SPACES]
        console.print("2 of 3: who was infected? an epidemic on 1000 nodes, a flat and a curved network")
        disease = [_classify(space, runs, seed=seed, epochs=epochs, splits=splits) for space in NETWORKS]
        console.print("3 of 3: a small tree in two dimensions, to look at")
        small, panels = embed_small(runs, seed=seed, epochs=min(epochs, SMALL_EPOCHS))
        for theme, name in (("dark", "tree-dark.png"), ("light", "tree.png")):
            picture = draw_embeddings(panels, out / name, groups=branches(BRANCHING, DEPTH), theme=theme)
        reports = [
            write_report(SavedRun(runs / "small-tree"), out / "tree-report.html"),
            write_report(SavedRun(runs / "disease-H16"), out / "disease-report.html"),
        ]
    return Demo(title, epochs, tree, splits, disease, small, picture, reports)


def _embed(graph: str, space: str, *, seed: int, epochs: int) -> Record:
    """Embed with a fixed curvature, so that a sphere stays a sphere."""
    summary = GraphEmbedder(space, epochs=epochs, random_state=seed, curvature_lr=0.0).fit(load_graph(graph)).summary()
    return {"space": space, "curved": summary["learned_space"], "distortion": summary["distortion"]}


def _classify(space: str, runs: Path, *, seed: int, epochs: int, splits: int) -> Record:
    data = load_labelled("disease")
    assert data is not None
    classifier = KappaGCNClassifier(space, epochs=epochs, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        summary = classify(classifier, data, splits_of("disease", data, splits), runs / f"disease-{space}")
    low, high = summary["interval"]
    record = {"space": space, "curved": summary["learned_space"], "accuracy": summary["accuracy"]}
    return {**record, "spread": (high - low) / 2}


def branches(branching: int, depth: int) -> torch.Tensor:
    """Branch of each node of a balanced tree, numbered two steps below the root; −1 above them.

    >>> branches(2, 2).tolist()
    [-1, -1, -1, 0, 1, 2, 3]
    """
    nodes = sum(branching**level for level in range(depth + 1))
    first = 1 + branching
    groups = torch.full((nodes,), -1)
    for node in range(first, nodes):
        parent = (node - 1) // branching
        groups[node] = node - first if parent < first else groups[parent]
    return groups


def embed_small(runs: Path, *, seed: int, epochs: int) -> tuple[list[Record], list[Any]]:
    """Embed a small tree on a sphere, in the plane, and with a learned curvature, whose run is kept in `runs`.

    Returns:
        A record of each, and a panel of each for `draw_embeddings`.
    """
    tree = balanced_tree(DEPTH, BRANCHING)
    tree.y, tree.class_names = branches(BRANCHING, DEPTH), [f"branch {place}" for place in range(1, BRANCHING**2 + 1)]
    edges = tree.edge_index[:, tree.edge_index[0] < tree.edge_index[1]].T
    records, panels = [], []
    for name, (space, rate) in SMALL.items():
        embedder = GraphEmbedder(space, epochs=epochs, curvature_lr=rate, random_state=seed)
        embedder.fit(tree, folder=runs / "small-tree" if rate else None)
        (kappa,), distortion = embedder.curvatures_, embedder.distortion_
        records.append({"name": name, "start": space, "curvature": kappa, "distortion": distortion})
        title = f"{name}, κ = {kappa:.3g}\ndistortion {distortion:.3f}".replace("-", "−")
        panels.append((title, torch.from_numpy(embedder.tangent_), edges, kappa))
    return records, panels


def show(outcome: Demo, console: Console) -> None:
    """Print two tables and their meaning."""
    title = outcome.title[0].upper() + outcome.title[1:]
    _table(console, title, "distortion", [(r, f"{r['distortion']:.4f}") for r in outcome.tree])
    best = min(outcome.tree, key=lambda r: r["distortion"])
    flat = next(r for r in outcome.tree if r["space"] == "E10")
    words = "Flat space is best here; more epochs are needed to compare the spaces."
    if best is not flat:
        words = (
            f"A tree is hyperbolic: in {best['curved']} its distances are kept "
            f"{flat['distortion'] / best['distortion']:.0f} times better than in flat space of the same dimension."
        )
    console.print(words, soft_wrap=True)
    rows = [(r, f"{r['accuracy']:.3f} ± {r['spread']:.3f}") for r in outcome.disease]
    _table(console, f"An epidemic, test accuracy over {outcome.splits} splits", "accuracy", rows)
    plain, curved = outcome.disease
    difference = curved["accuracy"] - plain["accuracy"]
    words = "Both classify equally well, within the intervals: here curvature helps only with distances."
    if abs(difference) > max(plain["spread"], curved["spread"]):
        better = "The curved" if difference > 0 else "The flat"
        words = f"{better} network is right {abs(difference):.1%} more often, with as many weights."
    console.print(words, soft_wrap=True)
    crossed = " Its curvature started on a sphere and crossed zero." if outcome.small[-1]["curvature"] < 0 else ""
    console.print(f"\nA small tree to look at: {outcome.picture}.{crossed}", soft_wrap=True, markup=False)
    console.print(f"Open in a browser: {' and '.join(str(path) for path in outcome.reports)}", soft_wrap=True)


def _table(console: Console, title: str, column: str, rows: list[tuple[Record, str]]) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("space")
    table.add_column("with its curvature")
    table.add_column(column, justify="right")
    for record, value in rows:
        name = NETWORKS.get(record["space"])
        table.add_row(f"{record['space']} ({name})" if name else record["space"], record["curved"], value)
    console.print(table)
