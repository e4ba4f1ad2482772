"""The demonstration: the paper's tree in three geometries, a classified epidemic, and a picture of a small tree."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.cross_validation import classify, load_labelled, splits_of
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.errors import PrecisionWarning
from kappagcn.graphs import balanced_tree, load_graph
from kappagcn.run_folder import Embedded, SavedRun
from kappagcn.view.figures.panels import draw_embeddings
from kappagcn.view.report import write_report

Record = dict[str, Any]
SPACES = ("H10", "E10", "S10")
NETWORKS = {"E16": "GCN", "H16": "κ-GCN"}
FULL = "tree", "The paper's tree, 1365 nodes", 3  # graph, its title, splits of the epidemic
QUICK = "small_tree", "A tree of 85 nodes", 2
QUICK_EPOCHS = 100
SMALL_EPOCHS = 60  # κ is then near −1.2, where the disk still shows the whole tree
DEPTH, BRANCHING = 5, 2
SMALL: dict[str, tuple[str, float | str]] = {
    "sphere": ("S2(0.05)", 0.0),
    "plane": ("E2", 0.0),
    "learned curvature": ("S2(0.3)", "auto"),
}  # initial space, learning rate of its curvature


def run(out: Path, *, seed: int, epochs: int, quick: bool = False, console: Console) -> Record:
    """Run all parts, with a line about each; returns the results of each and the files written.

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
        tree = []
        for space in SPACES:  # with a fixed curvature, so that a sphere stays a sphere
            embedder = GraphEmbedder(space, epochs=epochs, random_state=seed, curvature_lr=0.0).fit(load_graph(graph))
            tree.append({"space": space, "curved": embedder.space_, "distortion": embedder.distortion_})
        console.print("2 of 3: who was infected? an epidemic on 1000 nodes, a flat and a curved network")
        data = load_labelled("disease")
        disease = []
        for space in NETWORKS:
            classifier = KappaGCNClassifier(space, epochs=epochs, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrecisionWarning)
                summary = classify(classifier, data, splits_of("disease", data, splits), runs / f"disease-{space}")
            low, high = summary["interval"]
            record = {"space": space, "curved": summary["learned_space"], "accuracy": summary["accuracy"]}
            disease.append({**record, "spread": (high - low) / 2})
        console.print("3 of 3: a small tree in two dimensions, to look at")
        small, panels = embed_small(runs, seed=seed, epochs=min(epochs, SMALL_EPOCHS))
        files = [draw_embeddings(panels, out / "tree.png")]
        draw_embeddings(panels, out / "tree-dark.png", theme="dark")
        for name, page in (("small-tree", "tree-report.html"), ("disease-H16", "disease-report.html")):
            files.append(write_report(SavedRun(runs / name), out / page))
    results = {"tree": tree, "disease": disease, "small_tree": small}
    return {"title": title, "epochs": epochs, "splits": splits, **results, "files": [str(path) for path in files]}


def branches(branching: int, depth: int) -> torch.Tensor:
    """Branch of each node of a balanced tree, numbered two steps below the root; −1 above them.

    >>> branches(2, 2).tolist()
    [-1, -1, -1, 0, 1, 2, 3]
    """
    first = 1 + branching
    groups = [-1] * first + list(range(branching**2))
    for node in range(len(groups), sum(branching**level for level in range(depth + 1))):
        groups.append(groups[(node - 1) // branching])
    return torch.tensor(groups)


def embed_small(runs: Path, *, seed: int, epochs: int) -> tuple[list[Record], list[Any]]:
    """Embed a small tree on a sphere, in the plane, and with a learned curvature, whose run is kept in `runs`.

    Returns:
        A record of each, and a panel of each for `draw_embeddings`.
    """
    tree = balanced_tree(DEPTH, BRANCHING)
    tree.y, tree.class_names = branches(BRANCHING, DEPTH), [f"branch {place}" for place in range(1, BRANCHING**2 + 1)]
    edges = tree.edge_index[:, tree.edge_index[0] < tree.edge_index[1]].T.numpy()
    records, panels = [], []
    for name, (space, rate) in SMALL.items():
        embedder = GraphEmbedder(space, epochs=epochs, curvature_lr=rate, random_state=seed)
        embedder.fit(tree, folder=runs / "small-tree" if rate else None)
        (kappa,), distortion = embedder.curvatures_, embedder.distortion_
        records.append({"name": name, "start": space, "curvature": kappa, "distortion": distortion})
        title = f"{name}, κ = {kappa:.3g}\ndistortion {distortion:.3f}".replace("-", "−")
        v, dims = embedder.tangent_, np.array([embedder.tangent_.shape[1]])
        panels.append((title, Embedded(v, v, dims, np.array([kappa]), edges, labels=tree.y.numpy())))
    return records, panels


def show(results: Record, console: Console) -> None:
    """Print two tables and their meaning."""
    tree, (plain, curved), splits = results["tree"], results["disease"], results["splits"]
    _table(console, results["title"], "distortion", [(r, f"{r['distortion']:.4f}") for r in tree])
    best = min(tree, key=lambda r: r["distortion"])
    gain = next(r["distortion"] for r in tree if r["space"] == "E10") / best["distortion"]
    kept = (
        f"A tree is hyperbolic: in {best['curved']} its distances are kept {gain:.0f} times better than in flat space."
    )
    console.print(kept if gain > 1 else "Flat space is best here; more epochs are needed to compare.", soft_wrap=True)
    rows = [(r, f"{r['accuracy']:.3f} ± {r['spread']:.3f}") for r in (plain, curved)]
    _table(console, f"An epidemic, test accuracy over {splits} splits", "accuracy", rows)
    difference = curved["accuracy"] - plain["accuracy"]
    words = "Both classify equally well, within the intervals: here curvature helps only with distances."
    if abs(difference) > max(plain["spread"], curved["spread"]):
        better = "The curved" if difference > 0 else "The flat"
        words = f"{better} network is right {abs(difference):.1%} more often, with as many weights."
    console.print(words, soft_wrap=True)
    picture, *reports = results["files"]
    crossed = results["small_tree"][-1]["curvature"] < 0
    words = " Its curvature started on a sphere and crossed zero." if crossed else ""
    console.print(f"\nA small tree to look at: {picture}.{words}", soft_wrap=True, markup=False)
    console.print(f"Open in a browser: {' and '.join(reports)}", soft_wrap=True)


def _table(console: Console, title: str, column: str, rows: list[tuple[Record, str]]) -> None:
    table = Table("space", "with its curvature", title=title, title_justify="left")
    table.add_column(column, justify="right")
    for record, value in rows:
        name = NETWORKS.get(record["space"])
        table.add_row(f"{record['space']} ({name})" if name else record["space"], record["curved"], value)
    console.print(table)
