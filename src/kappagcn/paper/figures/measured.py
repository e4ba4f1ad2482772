"""Figures drawn from records: curvatures and degrees of the datasets, distortion by curvature, learned curvatures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kappagcn.errors import CheckpointError
from kappagcn.graphs import largest_component, load_graph, parallelogram_curvature
from kappagcn.io_atomic import atomic_write
from kappagcn.paper.cells import DATASETS
from kappagcn.paper.machine import made_by
from kappagcn.paper.runs import Record, record_lines
from kappagcn.view.figures.space import axes_for, minus, signs
from kappagcn.view.figures.style import Theme

__all__ = ["COMMANDS", "SHOWN", "curvatures", "degrees", "graph_histograms", "histograms", "paths", "sweep"]

HISTOGRAMS, SWEEP, TABLE1 = "histograms.json", "sweep.jsonl", "table1.jsonl"
COMMANDS = {  # that make the records
    HISTOGRAMS: "kappagcn reproduce figures",
    SWEEP: "kappagcn reproduce sweep",
    TABLE1: "kappagcn reproduce table1",
}
BINS = 30  # bins per unit of curvature; 0, where many nodes are, is the middle of a bin
EXACT = 20_000  # nodes up to which the curvature is exact, as in `kappagcn.graphs.describe`
ANCHORS = 64
SEED = 0
CLOSE = 0.0200001  # curvatures up to here are drawn larger
BEND = 0.008  # κ from which the rows that the second layer averages lie near the equator (benchmarks/bend.py)
SHOWN = (
    ("tree", "S10"),  # crosses to the hyperbolic side
    ("torus", "H10"),  # crosses to the spherical side
    ("sphere", "H10"),  # the same
    ("torus", "S10"),  # has the right sign, and keeps it
)
Curve = tuple[Sequence[float], Sequence[float]]


def read(folder: Path, name: str) -> list[Record]:
    """Records, one per line, without those of failed runs and without an incomplete last line."""
    records: list[Any] = []
    for where, line in record_lines(folder / name):
        try:
            records.append(json.loads(line))
        except ValueError:
            records.append(None)
        if not isinstance(records[-1], dict):
            message = f"{where}: expected a record, found {line[:40]!r}. Remove it; `{COMMANDS[name]}` makes it again."
            raise CheckpointError(message)
    if not records:
        raise CheckpointError(f"{folder / name}: expected records, found no file. `{COMMANDS[name]}` makes them.")
    return [record for record in records if "failed" not in record]


def histograms(folder: Path, root: str | Path | None = None) -> Path:
    """The record of degrees and curvatures of the datasets, which is made if it does not exist.

    Args:
        folder: Folder with the records.
        root: Folder in which datasets are looked for first.
    """
    path = folder / HISTOGRAMS
    if not path.exists():
        datasets = {name: graph_histograms(load_graph(name, root=root)) for name in DATASETS}
        record = {"datasets": datasets, "seed": SEED, **made_by()}
        try:
            with atomic_write(path) as file:
                file.write((json.dumps(record, ensure_ascii=False) + "\n").encode())
        except OSError as problem:
            raise CheckpointError(f"{path}: cannot be written ({problem.strerror}).") from None
    return path


def graph_histograms(data: Any) -> Record:
    """Histograms of degrees and curvatures of the nodes; curvatures are those of the largest component.

    Nodes outside it, and those with fewer than two neighbours, have no curvature and are counted as such.

    >>> from kappagcn.graphs import balanced_tree
    >>> counts = graph_histograms(balanced_tree(2, 3))
    >>> counts["degrees"], counts["curvature"]["none"]
    ({'1': 9, '3': 1, '4': 3}, 9)
    """
    degree = np.bincount(data.edge_index[0].numpy(), minlength=data.num_nodes)
    values, counts = np.unique(degree, return_counts=True)
    main = largest_component(data)
    curvature = parallelogram_curvature(main, anchors=None if main.num_nodes <= EXACT else ANCHORS, seed=SEED)
    per_node = curvature.per_node.numpy()
    known = per_node[~np.isnan(per_node)]
    low, high = (np.rint(BINS * end) for end in (known.min(initial=0), known.max(initial=0)))
    nodes, edges = np.histogram(known, bins=(np.arange(low, high + 2) - 0.5) / BINS)
    return {
        "nodes": data.num_nodes,
        "edges": data.num_edges // 2,
        "degrees": {str(d): int(c) for d, c in zip(values, counts, strict=True)},
        "curvature": {
            "bins": [round(float(edge), 6) for edge in edges],
            "counts": nodes.tolist(),
            "none": data.num_nodes - len(known),
            "mean": round(curvature.mean, 6),
            "how": curvature.how,
        },
    }


def _panels(folder: Path, xlabel: str, ylabel: str) -> tuple[Figure, Iterator[tuple[Any, Record]]]:
    """A figure with a panel for each dataset; the panels with the numbers of the dataset."""
    (record,) = read(folder, HISTOGRAMS)
    datasets = record.get("datasets", {})
    missing = [name for name in DATASETS if name not in datasets]
    if missing:
        raise CheckpointError(
            f"{folder / HISTOGRAMS}: expected {', '.join(DATASETS)}, found no {missing[0]}. Remove it; "
            f"`{COMMANDS[HISTOGRAMS]}` makes it again."
        )
    figure, axes = axes_for(len(DATASETS), rows=2, width=4.2, height=2.9)
    for axis, (name, title) in zip(axes, DATASETS.items(), strict=True):
        axis.set_title(f"{title}: {datasets[name]['nodes']:,} nodes, {datasets[name]['edges']:,} edges")
        axis.grid(axis="y")
    figure.supxlabel(xlabel, size=10)
    figure.supylabel(ylabel, size=10)
    return figure, zip(axes, (datasets[name] for name in DATASETS), strict=True)


def _mark_mean(axis: Any, mean: float, label: str, theme: Theme, where: str) -> None:
    axis.axvline(mean, color=theme.ink, linewidth=1.4, linestyle=(0, (4, 3)), label=minus(label))
    axis.legend(loc=where)


def curvatures(theme: Theme, folder: Path) -> Figure:
    """Histograms of the nodes' deviation from the parallelogram law; negative where the graph branches like a tree."""
    words = "curvature of a node: negative like a tree's, zero like a line's, positive like a cycle's"
    figure, panels = _panels(folder, words, "nodes")
    for axis, numbers in panels:
        histogram = numbers["curvature"]
        bins, counts = np.array(histogram["bins"]), np.array(histogram["counts"])
        colours = np.select([bins[1:] < 0, bins[:-1] > 0], theme.palette[:2], theme.muted)
        axis.bar(bins[:-1], counts, np.diff(bins), align="edge", color=colours, linewidth=0)
        _mark_mean(axis, histogram["mean"], f"mean {histogram['mean']:.3f}", theme, "upper left")
        axis.set_xlim(min(-1.02, bins[0]), max(1.05, bins[-1]))
        axis.set_xticks([-1, -0.5, 0, 0.5, 1], minus("-1 -0.5 0 0.5 1").split())
    return figure


def degrees(theme: Theme, folder: Path) -> Figure:
    """Nodes per degree, on logarithmic axes: few nodes have most of the edges."""
    figure, panels = _panels(folder, "degree", "nodes per degree, mean of each bar")
    for axis, numbers in panels:
        counted = np.array([(int(d), c) for d, c in numbers["degrees"].items() if int(d) > 0])
        # Bins of equal width on the axis; the first ones hold a single degree each, so that bars are counts per degree.
        bins = np.unique(np.concatenate([np.arange(1, 8), np.geomspace(8, counted[:, 0].max() + 1, 13)]).round()) - 0.5
        nodes, _ = np.histogram(counted[:, 0], bins, weights=counted[:, 1])
        colours = {"color": theme.palette[0], "edgecolor": theme.background}
        axis.bar(bins[:-1], nodes / np.diff(bins), np.diff(bins), align="edge", **colours)
        axis.set(xscale="log", yscale="log")
        mean = 2 * numbers["edges"] / numbers["nodes"]
        _mark_mean(axis, mean, f"mean {mean:.1f}", theme, "upper right")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter(lambda value, _: f"{value:,.2g}" if value < 1 else f"{value:,.0f}")
    return figure


def swept(folder: Path) -> tuple[Curve, float, Curve]:
    """Distortion over all κ, the Euclidean network's, and the curve close to 0."""
    values = {each["embedding"]["space"]: each["distortion"] for each in read(folder, SWEEP)}
    every = sorted((float(m[1]), d) for space, d in values.items() if (m := re.fullmatch(r"U10\((.+)\)", space)))
    close = [point for point in every if abs(point[0]) <= CLOSE]
    wide = [point for point in every if point not in close or abs(point[0]) == min(abs(k) for k, _ in every)]
    if "E10" not in values or len(wide) < 2 or len(close) < 2:
        raise CheckpointError(
            f"{folder / SWEEP}: expected E10 and curvatures U10(κ) far from 0 and close to it, found {len(values)} "
            f"records. `{COMMANDS[SWEEP]}` makes the others."
        )
    curve, near = ((tuple(k for k, _ in points), tuple(d for _, d in points)) for points in (wide, close))
    return curve, values["E10"], near


def sweep(theme: Theme, folder: Path) -> Figure:
    """Distortion against curvature: one curve through hyperbolic, flat and spherical spaces."""
    return draw_sweep(*swept(folder), theme)


def draw_sweep(curve: Curve, flat: float, close: Curve, theme: Theme) -> Figure:
    """The figure of a sweep, with the curve close to 0 as an inset."""
    figure = Figure(figsize=(6.4, 3.8))
    axis = figure.subplots()
    inset = axis.inset_axes((0.62, 0.16, 0.36, 0.42))
    for place, (kappas, distortions), marker in ((axis, curve, 2.4), (inset, close, 2)):
        place.axvline(0, color=theme.muted, linewidth=0.8)
        dashed: Any = {"color": theme.palette[1], "linewidth": 1.2, "linestyle": "--"}
        place.axhline(flat, label=f"Euclidean GCN: {flat:.4f}", **dashed)
        dots: Any = {"color": theme.palette[0], "linewidth": 1.2, "marker": "o", "markersize": marker}
        place.plot(kappas, distortions, label="κ-GCN, κ fixed", **dots)
    axis.grid(axis="y")
    axis.set(xlabel="κ", ylabel="average distortion", xlim=(1.03 * min(curve[0]), 1.03 * max(curve[0])))
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper left")
    inset.set_title("close to 0", fontsize=9)
    inset.tick_params(labelsize=8)
    if min(close[0]) < BEND < max(close[0]):
        inset.axvline(BEND, color=theme.muted, linewidth=0.8, linestyle=":")
        style: Any = {"xytext": (4, 4), "textcoords": "offset points", "size": 7, "color": theme.muted}
        inset.annotate("points at\nthe equator", (BEND, inset.get_ylim()[0]), **style)
    return figure


def learned(records: Sequence[Record], graph: str, space: str) -> list[list[float]]:
    """[epoch, κ of the points' space, κ of the hidden layer] of the run that started from the graph."""
    wanted = {"graph": graph, "space": space, "method": "kappa-gcn", "start": "graph"}.items()
    runs = [each for each in records if wanted <= each.get("embedding", {}).items() and each.get("curvature_path")]
    if not runs:
        raise CheckpointError(
            f"{TABLE1}: expected a run of kappa-gcn on {graph} in {space} started from the graph, found none. "
            f"`{COMMANDS[TABLE1]}` makes it."
        )
    values: list[list[float]] = runs[0]["curvature_path"]
    return values


def paths(theme: Theme, folder: Path) -> Figure:
    """Curvature by epoch while it is learned: it crosses zero if the other sign fits the graph better."""
    records = read(folder, TABLE1)
    figure, axes = axes_for(len(SHOWN), rows=2, width=4.2, height=2.9)
    styles = (("where the nodes are", "-"), ("in the hidden layer", (0, (4, 2))))
    for axis, (graph, space) in zip(axes, SHOWN, strict=True):
        epochs, *kappas = zip(*learned(records, graph, space), strict=True)
        for (name, style), colour, values in zip(styles, (0, 1), kappas, strict=False):
            axis.plot(epochs, values, color=theme.palette[colour], linewidth=2, linestyle=style, label=name)
        axis.set_title(minus(f"{graph} in {space}: κ from {kappas[0][0]:+.3f} to {kappas[0][-1]:+.3f}"))
        axis.margins(x=0)
        every = [0.0, *(value for values in kappas for value in values)]
        room = 0.3 * (max(every) - min(every))
        axis.set_ylim(min(*every, -room / 2) - room / 2, max(*every, room / 2) + room / 2)
        signs(axis, theme)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    figure.supxlabel("epoch", size=10)
    figure.supylabel("κ", size=11)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
