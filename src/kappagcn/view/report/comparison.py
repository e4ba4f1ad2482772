"""Comparison of two to four runs on the same graph: a table, a sentence, and data for the page's script."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kappagcn.errors import CheckpointError
from kappagcn.geometry.signature import parse_signature
from kappagcn.run_folder import SavedRun, factor_name
from kappagcn.view.curves import OBJECTIVES, curves
from kappagcn.view.palette import COLOURS, SHAPES
from kappagcn.view.report.content import graph_view, run_view, shown_nodes
from kappagcn.view.report.tables import Table, best_rows
from kappagcn.view.report.words import number, percent, space_name

MOST_RUNS = 4
CLEAR = 1.05  # ratio of two distortions from which one is called better


class Column(NamedTuple):
    """A column of the table: key in the summary, heading, function that formats a value, whether larger is better."""

    key: str
    heading: str
    write: Any
    larger: bool | None


COLUMNS = (
    Column("accuracy", "Test accuracy", percent, True),
    Column("macro_f1", "Macro F1", percent, True),
    Column("distortion", "Average distortion", number, False),
    Column("d_avg", "D_avg", number, False),
    Column("map", "Mean average precision", percent, True),
    Column("coincident_nodes", "Coinciding nodes", number, False),
    Column("epochs", "Epochs", number, None),
    Column("seconds", "Seconds", number, None),
)


def check_comparable(runs: Sequence[SavedRun]) -> None:
    """Refuse runs of different kinds or on different graphs.

    Raises:
        CheckpointError: The runs cannot be compared.
    """
    if not 2 <= len(runs) <= MOST_RUNS:
        raise CheckpointError(f"expected 2 to {MOST_RUNS} runs to compare, found {len(runs)}.")
    first = runs[0]
    for other in runs[1:]:
        if other.kind != first.kind:
            raise CheckpointError(
                f"expected runs of one kind, found {first.path}: {first.kind} and {other.path}: {other.kind}."
            )
        same = len(other.embedded.tangent) == len(first.embedded.tangent) and _edges(other) == _edges(first)
        if not same or _names(other) != _names(first):
            raise CheckpointError(
                f"{other.path}: expected the graph of {first.path}, found another one. Compare runs on the same graph."
            )


def _edges(run: SavedRun) -> set[tuple[int, int]]:
    return set(map(tuple, np.sort(run.embedded.edges, axis=1).tolist()))


def _names(run: SavedRun) -> list[str] | None:
    return None if run.embedded.names is None else run.embedded.names.tolist()


def run_names(runs: Sequence[SavedRun]) -> list[str]:
    """Names of the run directories, with the learned space where it has other signs; numbered if two are equal."""
    names = [run.path.resolve().name + _learned_signs(run) for run in runs]
    return names if len(set(names)) == len(names) else [f"{name} {place}" for place, name in enumerate(names, 1)]


def _learned_signs(run: SavedRun) -> str:
    """The learned space for a run directory named after a space whose curvature has changed its sign."""
    initial = str(run.summary.get("space") or "")
    if not initial or not run.path.resolve().name.endswith(initial):
        return ""
    learned = [factor_name(k, dim) for k, dim in zip(run.embedded.curvatures, run.embedded.dims, strict=True)]
    named = [f"{factor.letter}{factor.dim}" for factor in parse_signature(initial)] if initial != "auto" else learned
    return "" if named == learned else f" (learned {'x'.join(learned)})"


def comparison_content(runs: Sequence[SavedRun]) -> dict[str, Any]:
    """The graph, the positions of its nodes in each run, and the objective of all runs by epoch."""
    shown, _ = shown_nodes(runs[0].embedded)
    views = [run_view(run, shown) | {"name": name} for run, name in zip(runs, run_names(runs), strict=True)]
    return {
        "palette": {"colours": COLOURS, "shapes": SHAPES},
        "view": graph_view(runs[0].embedded) | {"runs": views},
        "curves": _curves(runs),
        "histogram": None,
    }


def _curves(runs: Sequence[SavedRun]) -> list[dict[str, Any]]:
    """One chart with the first series of each run, over the epochs of the longest run."""
    charts = [next(iter(curves(run, [])), None) for run in runs]
    if not all(chart is not None and chart["title"] == charts[0]["title"] for chart in charts):  # type: ignore[index]
        return []
    longest: Any = max((chart for chart in charts if chart), key=lambda chart: chart["epochs"][-1])
    series: list[dict[str, Any]] = []
    for chart, name in zip(charts, run_names(runs), strict=True):
        assert chart is not None
        own = chart["series"][0]["values"]
        known = [(epoch, value) for epoch, value in zip(chart["epochs"], own, strict=True) if value is not None]
        epochs, values = zip(*known, strict=True) if known else ((0,), (0.0,))
        last = epochs[-1]
        drawn = [float(np.interp(e, epochs, values)) if e <= last else None for e in longest["epochs"]]
        series.append({"name": name, "values": drawn})
    present = [value for each in series for value in each["values"] if value is not None]
    log = bool(present) and min(present) > 0 and max(present) > 5 * min(present) and not longest["share"]
    title = longest["title"] if longest["title"] in OBJECTIVES.values() else "Training loss (lower is better)"
    return [longest | {"title": title, "series": series, "best": None, "log": log}]


def comparison_table(runs: Sequence[SavedRun]) -> Table:
    """A row per run, the best of each column in bold."""
    columns = [each for each in COLUMNS if any(_is_worth_a_column(run.summary.get(each.key), each) for run in runs)]
    rows = [
        [name, space_name(run), *(each.write(run.summary.get(each.key)) for each in columns)]
        for run, name in zip(runs, run_names(runs), strict=True)
    ]
    bold = {
        (row, place)
        for place, each in enumerate(columns, 2)
        if each.larger is not None
        for row in best_rows((run.summary.get(each.key) for run in runs), larger=each.larger)
    }
    head = ["Run", "Space, as learned", *(each.heading for each in columns)]
    return Table(head, rows, "Bold: the best of its column.", frozenset(bold))


def _is_worth_a_column(value: Any, column: Column) -> bool:
    return bool(value) if column.key == "coincident_nodes" else value is not None


def verdict(runs: Sequence[SavedRun]) -> str:
    """Which run is better, by how much, in one sentence."""
    if runs[0].kind == "classification":
        return _accuracy_verdict(runs)
    key = "distortion" if all(run.summary.get("objective") in (None, "distortion") for run in runs) else "d_avg"
    scored = sorted(
        ((run.summary[key], place(run)) for run in runs if isinstance(run.summary.get(key), int | float)),
        key=lambda pair: pair[0],
    )
    if len(scored) < 2:
        return "These runs have no measure in common."
    (least, best), *others = scored
    clauses = []
    for value, where in others:
        ratio = value / least if least > 0 else float("inf")
        words = "as well as" if ratio < CLEAR else f"{_times(ratio)} times better than"
        clauses.append(f"{words} {where}")
    measure = "average distortion" if key == "distortion" else "D_avg"
    listed = ", ".join(clauses[:-1]) + (" and " if len(clauses) > 1 else "") + clauses[-1]
    against = f" against {' and '.join(number(value) for value, _ in others)}"
    return f"{best[0].upper()}{best[1:]} distances are kept {listed} ({measure} {number(least)}{against})."


def place(run: SavedRun) -> str:
    """The space of a run in words with a preposition: in the plane, on the sphere S2, in H2."""
    kappas, dims = run.embedded.curvatures.tolist(), run.embedded.dims.tolist()
    if kappas == [0] and dims == [2]:
        return "in the plane"
    if all(k == 0 for k in kappas):
        return f"in flat E{sum(dims)}"
    if len(kappas) == 1 and kappas[0] > 0:
        return f"on the sphere S{dims[0]} (κ = {number(kappas[0])})"
    return f"in {space_name(run)}"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _accuracy_verdict(runs: Sequence[SavedRun]) -> str:
    scored = [
        (run.summary["accuracy"], name, run.summary.get("interval"))
        for run, name in zip(runs, run_names(runs), strict=True)
        if isinstance(run.summary.get("accuracy"), int | float)
    ]
    if len(scored) < 2:
        return "These runs have no measure in common."
    scored.sort(key=lambda each: -each[0])
    (best, name, interval), (second, other, other_interval), *_ = scored
    more = f"{100 * (best - second):.1f} points more than {other}"
    sentence = f"{name} is right for {percent(best)} of the test nodes, {more}"
    if interval and other_interval and interval[0] <= other_interval[1]:
        return f"{sentence}; their 95 % intervals overlap, so that may be chance."
    return f"{sentence}."
