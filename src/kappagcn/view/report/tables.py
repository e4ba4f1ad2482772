"""Tables of the page as plain words, which its template escapes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kappagcn.run_folder import Array, SavedRun
from kappagcn.view.palette import short_names
from kappagcn.view.report.words import number, percent

SHADES = 9
LONGEST, UPRIGHT, ROOM = 40, 4, 20  # most letters of a class name; of an unrotated one; of all in one line
RECORDS = {
    "split_name": "Split",
    "run": "Run",
    "accuracy": "Test accuracy",
    "macro_f1": "Macro F1",
    "stopping_accuracy": "Early-stopping accuracy",
    "epochs": "Epochs",
    "seconds": "Seconds",
}
SHARES = ("accuracy", "macro_f1", "stopping_accuracy")  # columns in per cent
BASELINES = {
    "majority": "most common class",
    "propagation": "label propagation",
    "features": "MLP on features alone",
    "gcn": "GCN",
    "unweighted": "GCN without weights",
}
MEASURES = {"accuracy": "Accuracy", "balanced_accuracy": "Balanced accuracy", "macro_f1": "Macro F1", "auc": "AUC"}
FINGERPRINTS = ("data", "nodes")  # settings that only tell whether a graph is the same


class Table(NamedTuple):
    """A table whose rows begin with their name, a sentence about it, and the places (row, column) in bold."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    bold: frozenset[tuple[int, int]] = frozenset()


def best_rows(values: Iterable[Any], *, larger: bool = True) -> set[int]:
    """The rows with the best of these numbers; none where fewer than two are numbers."""
    known = {row: value for row, value in enumerate(values) if isinstance(value, int | float)}
    if len(known) < 2:
        return set()
    best = (max if larger else min)(known.values())
    return {row for row, value in known.items() if value == best}


def confusion_table(run: SavedRun) -> dict[str, Any] | None:
    """Test nodes by true and predicted class, with each class's recall; None without test nodes."""
    counts = run.confusion()
    if counts is None or not counts.sum() or run.embedded.class_names is None:
        return None
    names = short_names(run.embedded.class_names, LONGEST)
    # Rotated names keep columns narrow; short names are easier to read horizontally.
    turned = max(map(len, names)) > UPRIGHT and sum(map(len, names)) > ROOM
    rows = [(name, _cells(row, place)) for place, (name, row) in enumerate(zip(names, counts, strict=True))]
    return {"names": names, "turned": turned, "rows": rows}


def _cells(row: Array, place: int) -> list[tuple[str, str]]:
    """The class of the style sheet and the text of each cell; the last one is the recall."""
    total = max(int(row.sum()), 1)
    shades = np.ceil(SHADES * row / total).astype(int).tolist()
    cells = [
        (f"{'right' if column == place else 'wrong'} shade{shade}", number(count))
        for column, (count, shade) in enumerate(zip(row.tolist(), shades, strict=True))
    ]
    return [*cells, ("recall", percent(row[place] / total) if row.sum() else "–")]


def baselines_table(run: SavedRun) -> Table | None:
    """Test metrics of a classification beside those of its baselines; None without baselines."""
    baselines = run.summary.get("baselines")
    if run.kind != "classification" or not isinstance(baselines, dict) or not baselines:
        return None
    records = {"this run": run.summary, **{BASELINES.get(str(name), str(name)): r for name, r in baselines.items()}}
    columns = [key for key in MEASURES if all(key in record for record in records.values())]
    best = {key: best_rows(record[key] for record in records.values()) for key in columns}
    return Table(
        ["Predicted by", *(MEASURES[key] for key in columns)],
        [[name, *(percent(record[key]) for key in columns)] for name, record in records.items()],
        str(run.summary.get("verdict") or ""),
        frozenset((row, place) for place, key in enumerate(columns, 1) for row in best[key]),
    )


def records_table(run: SavedRun) -> Table | None:
    """A row per run; None for a single run."""
    records = run.summary.get("records")
    if not isinstance(records, list) or len(records) < 2 or not all(isinstance(each, dict) for each in records):
        return None
    records = [{**record, **record.get("test", {})} for record in records]
    columns = [key for key in RECORDS if any(key in record for record in records)]
    rows = [[(percent if key in SHARES else number)(record.get(key)) for key in columns] for record in records]
    return Table([RECORDS[key] for key in columns], rows)


def choice_table(run: SavedRun) -> Table | None:
    """The candidates of --space auto, with the reason; None if the space was not chosen automatically."""
    choice = run.summary.get("choice")
    if not isinstance(choice, dict) or not isinstance(choice.get("candidates"), list):
        return None
    rows = [
        [str(c["space"]), number(c["d_avg"]), percent(c["map"]), number(c["epochs"]), str(c["learned_space"])]
        for c in choice["candidates"]
    ]
    return Table(["Space", "D_avg", "Mean average precision", "Epochs", "Learned"], rows, str(choice["reason"]))


def how_to_repeat(run: SavedRun) -> dict[str, Any] | None:
    """The command, the call in Python, the seed, versions, and all settings; None where nothing was recorded."""
    summary, settings = run.summary, list(flattened(run.config))
    titles = {"command": "On the command line", "call": "In Python"}
    commands = [(title, str(summary[key])) for key, title in titles.items() if summary.get(key)]
    seeds = [("seed", value) for name, value in settings if name.split(".")[-1] in ("random_state", "seed")]
    versions = summary.get("versions")
    facts = [*seeds[:1], *(versions.items() if isinstance(versions, dict) else ())]
    rows = [[name, _plain(value)] for name, value in settings]
    if not (commands or facts or rows):
        return None
    return {"commands": commands, "facts": facts, "settings": Table([], rows)}


def flattened(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings of nested dictionaries by their path.

    >>> dict(flattened({"options": {"space": "H2"}, "runs": 1}))
    {'options.space': 'H2', 'runs': 1}
    """
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from flattened(value, f"{prefix}{name}.")
        elif name not in FINGERPRINTS:
            yield f"{prefix}{name}", value


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(each) for each in value)
    return number(value) if isinstance(value, float) else str(value)
