"""Curvature by epoch while it is learned: it crosses zero if the other sign fits the graph better."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from kappagcn.errors import CheckpointError
from kappagcn.paper.figures.records import json_lines
from kappagcn.view.figures.space import axes_for, minus, signs
from kappagcn.view.figures.style import Theme

__all__ = ["COMMAND", "SHOWN", "curvature_path", "paths"]

COMMAND = "kappagcn reproduce table1"
SHOWN = (
    ("tree", "S10"),  # crosses to the hyperbolic side
    ("torus", "H10"),  # crosses to the spherical side
    ("sphere", "H10"),  # the same
    ("torus", "S10"),  # has the right sign, and keeps it
)
RECORDS = "table1.jsonl"


def curvature_path(records: Path, graph: str, space: str) -> list[list[float]]:
    """[epoch, κ of the points' space, κ of the hidden layer] of the run that started from the graph."""
    path = records / RECORDS
    wanted = {"graph": graph, "space": space, "method": "kappa-gcn", "start": "graph"}
    for record in json_lines(path, COMMAND):
        settings = record.get("embedding", {})
        if all(settings.get(name) == value for name, value in wanted.items()) and record.get("curvature_path"):
            values: list[list[float]] = record["curvature_path"]
            return values
    raise CheckpointError(
        f"{path}: expected a run of kappa-gcn on {graph} in {space} started from the graph, found none. "
        f"`{COMMAND}` makes it."
    )


def paths(theme: Theme, records: Path) -> Figure:
    """Learned curvatures by epoch."""
    figure, axes = axes_for(len(SHOWN), rows=2, width=4.2, height=2.9)
    styles = (("where the nodes are", "-"), ("in the hidden layer", (0, (4, 2))))
    for axis, (graph, space) in zip(axes, SHOWN, strict=True):
        epochs, *kappas = zip(*curvature_path(records, graph, space), strict=True)
        for (name, style), colour, values in zip(styles, (0, 1), kappas, strict=False):
            axis.plot(epochs, values, color=theme.palette[colour], linewidth=2, linestyle=style, label=name)
        start, end = kappas[0][0], kappas[0][-1]
        axis.set_title(minus(f"{graph} in {space}: κ from {start:+.3f} to {end:+.3f}"))
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
