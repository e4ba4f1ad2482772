"""A run's numbers in words that need no manual."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from kappagcn.run_folder import SavedRun

__all__ = ["Fact", "factor_name", "facts", "number", "percent", "sentences", "space_name"]

LONGEST = 200  # characters of a value that nobody foresaw


class Fact(NamedTuple):
    """A number with its name and, where there is one, what it means."""

    label: str
    value: str
    meaning: str = ""


def number(value: Any) -> str:
    """Up to four digits; a dash for what is missing.

    >>> number(0.0668131), number(305.166), number(74374), number(None)
    ('0.06681', '305.2', '74,374', '–')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _shortened(str(value))
    if isinstance(value, int):
        return f"{value:,}"
    rounded = float(f"{value:.4g}")
    plain = value == 0 or 1e-4 <= abs(rounded) < 1e6
    return (f"{rounded:,.10g}" if plain else f"{value:.3e}").replace("-", "−")


def percent(value: Any) -> str:
    """A share of 1.

    >>> percent(0.8137), percent(None)
    ('81.4 %', '–')
    """
    known = isinstance(value, (int, float)) and math.isfinite(value)
    return f"{100 * value:.1f} %" if known else "–"


def _seconds(value: Any) -> str:
    if not isinstance(value, (int, float)) or value < 120:
        return f"{number(value)} s" if isinstance(value, (int, float)) else "–"
    minutes, seconds = divmod(round(value), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {seconds} s"


def _interval(value: Any) -> str:
    if not isinstance(value, list) or len(value) != 2:
        return number(value)
    return f"{percent(value[0]).removesuffix(' %')} – {percent(value[1])}"


def _kept(value: Any) -> str:
    if not isinstance(value, dict):
        return number(value)
    return f"split {number(value.get('split'))}, run {number(value.get('run'))}"


KNOWN: dict[str, tuple[str, Callable[[Any], str], str]] = {
    "accuracy": ("Test accuracy", percent, "share of test nodes whose class is right"),
    "interval": ("95 % interval", _interval, "of the accuracy, over runs"),
    "macro_f1": ("Macro F1", percent, "every class counts the same"),
    "distortion": ("Average distortion", number, "mean of ((d/d_G)² − 1)² over pairs; 0 is perfect"),
    "worst_distortion": ("Worst-case distortion", number, "largest d/d_G over the smallest; 1 is perfect"),
    "map": ("Mean average precision", percent, "are graph neighbours the nearest points?"),
    "distortion_std_error": ("Standard error of the average", number, "from sampled pairs"),
    "unreachable_pairs": ("Pairs left out", number, "no path joins them"),
    "splits": ("Splits", number, "divisions into training and test nodes"),
    "runs": ("Runs", number, "over all splits"),
    "kept": ("Run shown below", _kept, "the one with the best early-stopping accuracy"),
    "epochs": ("Epochs", number, ""),
    "best_epoch": ("Best epoch", number, "whose state is shown"),
    "seconds": ("Time", _seconds, ""),
    "edge_unit": ("Mean length of an edge", number, "distances are in the graph's own unit"),
    "space": ("Space asked for", lambda value: _shortened(str(value)), ""),
}
FIRST = ("accuracy", "interval", "macro_f1", "distortion", "worst_distortion", "map", "epochs", "seconds")
ELSEWHERE = ("graph", "learned_space", "curvatures", "records")  # in the header, the curves and a table of their own


def facts(run: SavedRun) -> list[Fact]:
    """Everything in the summary that is not said elsewhere, the most telling first."""
    told = {key: value for key, value in run.summary.items() if key not in ELSEWHERE and not _idle(key, value)}
    order = [*(key for key in FIRST if key in told), *(key for key in told if key not in FIRST)]
    return [_fact(key, told[key]) for key in order]


def _idle(key: str, value: Any) -> bool:
    """Whether a number says nothing: no pair left out, nothing estimated, edges of length 1."""
    plain = {"distortion_std_error": 0.0, "unreachable_pairs": 0, "edge_unit": 1.0, "interval": None}
    return key in plain and value == plain[key]


def _fact(key: str, value: Any) -> Fact:
    if key in KNOWN:
        label, written, meaning = KNOWN[key]
        return Fact(label, written(value), meaning)
    text = ", ".join(number(each) for each in value) if isinstance(value, list) else number(value)
    return Fact(_shortened(key.replace("_", " ").capitalize()), _shortened(text))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def factor_name(k: float, dim: int) -> str:
    """Letter and dimension.

    >>> factor_name(-0.5, 2)
    'H2'
    """
    return f"{'H' if k < 0 else 'S' if k > 0 else 'E'}{dim}"


def space_name(run: SavedRun) -> str:
    """The factors with their learned curvatures."""
    told = run.embedded
    names = [_with_curvature(float(k), int(dim)) for k, dim in zip(told.curvatures, told.dims, strict=True)]
    return " × ".join(names)


def _with_curvature(k: float, dim: int) -> str:
    return f"{factor_name(k, dim)} (κ = {number(k)})" if k else factor_name(k, dim)


def sentences(run: SavedRun) -> str:
    """What came out."""
    told, summary = run.embedded, run.summary
    size = f"{number(len(told.tangent))} nodes and {number(len(told.edges))} edges"
    if run.kind == "classification":
        return f"{_classified(summary)} The graph has {size}. {_shape(told.curvatures.tolist())}"
    parts = [f"{size} were placed in {space_name(run)}.", _shape(told.curvatures.tolist())]
    if isinstance(summary.get("distortion"), (int, float)):
        parts.insert(1, f"Distances there miss those in the graph by an average distortion of {_average(summary)}.")
    return " ".join(parts)


def _average(summary: dict[str, Any]) -> str:
    average, error = summary["distortion"], summary.get("distortion_std_error")
    return f"{number(average)} ± {number(error)}" if error else number(average)


def _classified(summary: dict[str, Any]) -> str:
    accuracy = summary.get("accuracy")
    if not isinstance(accuracy, (int, float)):
        return "A classifier was trained; no nodes were set aside to test it."
    interval = f" (95 % interval {_interval(summary['interval'])})" if summary.get("interval") else ""
    runs = summary.get("runs")
    mean = f", on average over {number(runs)} runs" if isinstance(runs, int) and runs > 1 else ""
    return f"The class of {percent(accuracy)} of the test nodes is predicted right{interval}{mean}."


def _shape(curvatures: list[float]) -> str:
    """What the signs say about the graph."""
    kinds = {
        "negative curvature, which suits trees and hierarchies": any(k < 0 for k in curvatures),
        "positive curvature, which suits cycles and closed surfaces": any(k > 0 for k in curvatures),
        "no curvature, which suits grids and lines": any(k == 0 for k in curvatures),
    }
    found = [words for words, there in kinds.items() if there]
    return f"The space has {'; and '.join(found)}." if found else ""
