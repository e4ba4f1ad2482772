"""Numbers of a run with names and explanations for the page."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from kappagcn.run_folder import SavedRun, factor_name

LONGEST = 200  # most characters of a value of unknown kind


class Fact(NamedTuple):
    """A number with its name and, where it needs one, its meaning."""

    label: str
    value: str
    meaning: str = ""


def number(value: Any) -> str:
    """A number with up to four digits; a dash for a missing one.

    >>> number(0.0668131), number(305.166), number(74374), number(None)
    ('0.06681', '305.2', '74,374', '–')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _shortened(str(value))
    if isinstance(value, int):
        return f"{value:,}"
    rounded = float(f"{value:.4g}")
    plain = value == 0 or 1e-4 <= abs(rounded) < 1e6
    return (f"{rounded:,.10g}" if plain else f"{value:.3e}").replace("-", "−")


def percent(value: Any) -> str:
    """A fraction as a percentage; a dash for a missing one.

    >>> percent(0.8137), percent(None)
    ('81.4 %', '–')
    """
    known = isinstance(value, int | float) and math.isfinite(value)
    return f"{100 * value:.1f} %" if known else "–"


def _seconds(value: Any) -> str:
    if not isinstance(value, int | float) or value < 120:
        return f"{number(value)} s" if isinstance(value, int | float) else "–"
    minutes, seconds = divmod(round(value), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {seconds} s"


def _interval(value: Any) -> str:
    if not isinstance(value, list) or len(value) != 2:
        return number(value)
    return f"{percent(value[0]).removesuffix(' %')} – {percent(value[1])}"


def _kept_run(value: Any) -> str:
    if not isinstance(value, dict):
        return number(value)
    return f"split {number(value.get('split'))}, run {number(value.get('run'))}"


# In the order of the page.
KNOWN: dict[str, tuple[str, Callable[[Any], str], str]] = {
    "roc_auc": ("ROC AUC", number, "a hidden link scores above another pair; 0.5 is chance"),
    "test_pairs": ("Test pairs", number, "half of them hidden links"),
    "accuracy": ("Test accuracy", percent, "share of test nodes whose class is right"),
    "interval": ("95 % interval", _interval, "of the accuracy"),
    "macro_f1": ("Macro F1", percent, "every class counts the same"),
    "balanced_accuracy": ("Balanced accuracy", percent, "mean of the recalls of all classes"),
    "auc": ("AUC", percent, "a node of a class scores above another; 50 % is chance"),
    "test_nodes": ("Test nodes", number, "their labels were not used in training"),
    "distortion": ("Average distortion", number, "mean of ((d/d_G)² − 1)² over pairs; 0 is perfect"),
    "d_avg": ("D_avg", number, "mean of |d/d_G − 1| over pairs; 0 is perfect"),
    "worst_distortion": ("Worst-case distortion", number, "largest d/d_G over the smallest; 1 is perfect"),
    "map": ("Mean average precision", percent, "are graph neighbours the nearest points?"),
    "epochs": ("Epochs", number, ""),
    "seconds": ("Time", _seconds, ""),
    "model": ("Model", number, ""),
    "distortion_std_error": ("Standard error of the average", number, "from sampled pairs"),
    "unreachable_pairs": ("Pairs left out", number, "no path joins them"),
    "coincident_nodes": ("Nodes that share a place", number, "with another node"),
    "stopped_by": ("Stopped by", number, "converged: the objective fell no more"),
    "chosen_space": ("Space chosen", number, "among the candidates of --space auto"),
    "added_nodes": ("Added nodes", number, "placed later, without moving the others"),
    "added_d_avg": ("D_avg of added nodes", number, ""),
    "splits": ("Splits", number, "divisions into training and test data"),
    "runs": ("Runs", number, "over all splits"),
    "kept": ("Run shown below", _kept_run, "the one with the best early-stopping accuracy"),
    "best_epoch": ("Best epoch", number, "whose state is shown"),
    "edge_unit": ("Mean length of an edge", number, "distances are in the graph's own unit"),
    "space": ("Space asked for", lambda value: _shortened(str(value)), ""),
}
LARGE_RATIO = 1e3  # worst-case distortion above which two nodes nearly coincide
MOST_RATIO = 1e6  # largest worst-case distortion that is printed; above it nodes coincide
# Uninformative values, which are not shown: no pair left out, nothing estimated, edges of length 1.
TRIVIAL = {
    "distortion_std_error": 0.0,
    "unreachable_pairs": 0,
    "coincident_nodes": 0,
    "edge_unit": 1.0,
    "interval": None,
    "edge_weights": None,
}
# Values shown in the header, in the curves, or in sections of their own.
ELSEWHERE = (
    *("graph", "learned_space", "curvatures", "records", "curvature_intervals", "choice"),
    *("command", "call", "versions"),
    "interval_covers",
)
IN_LINKS = ("metrics", "intervals", "baselines", "verdict")  # in the section of a link prediction
IN_BASELINES = ("baselines", "differences", "verdict", "features")  # in the table of a classification's baselines


def facts(run: SavedRun) -> list[Fact]:
    """All values of the summary that are not shown elsewhere, the most important first."""
    elsewhere = (*ELSEWHERE, *{"links": IN_LINKS, "classification": IN_BASELINES}.get(run.kind, ()))
    shown = {
        key: value
        for key, value in run.summary.items()
        if key not in elsewhere and not (key in TRIVIAL and value == TRIVIAL[key])
    }
    ranked = ("map",) if run.summary.get("objective") == "neighbours" else ()  # the objective was not a distance
    first = [*ranked, *(key for key in KNOWN if key not in ranked)]
    order = [*(key for key in first if key in shown), *(key for key in shown if key not in first)]
    return [_fact(run, key, shown[key]) for key in order]


def _worst(run: SavedRun) -> Fact:
    """The worst-case distortion; if nodes coincide it is not a number, and their count is shown instead."""
    value, coincident = run.summary.get("worst_distortion"), run.summary.get("coincident_nodes") or 0
    label, _, meaning = KNOWN["worst_distortion"]
    if isinstance(value, int | float) and value <= MOST_RATIO:
        near = "largest d/d_G over the smallest: some neighbours nearly coincide"
        return Fact(label, number(value), meaning if value < LARGE_RATIO else near)
    if coincident:
        return Fact(label, "unbounded", f"{number(coincident)} nodes share a place with another node")
    return Fact(label, "unbounded", "some nodes nearly coincide")


def _fact(run: SavedRun, key: str, value: Any) -> Fact:
    if key == "worst_distortion":
        return _worst(run)
    if key in KNOWN:
        label, write, meaning = KNOWN[key]
        if key == "interval" and "interval_covers" in run.summary:
            meaning += f", for {run.summary['interval_covers']}"
        return Fact(label, write(value), meaning)
    text = ", ".join(number(each) for each in value) if isinstance(value, list) else number(value)
    return Fact(_shortened(key.replace("_", " ").capitalize()), _shortened(text))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def space_name(run: SavedRun) -> str:
    """The factors with their learned curvatures."""
    factors = zip(run.embedded.curvatures.tolist(), run.embedded.dims.tolist(), strict=True)
    return " × ".join(factor_name(k, dim) + (f" (κ = {number(k)})" if k else "") for k, dim in factors)


def sentences(run: SavedRun) -> str:
    """The result of a run in a few sentences."""
    embedded, summary = run.embedded, run.summary
    size = f"{number(len(embedded.tangent))} nodes and {number(len(embedded.edges))} edges"
    shape = _meaning(embedded.curvatures.tolist(), summary)
    if run.kind == "links":
        return f"{links_sentence(summary)} The graph has {size}. {shape}"
    if run.kind == "classification":
        verdict = f" {summary['verdict']}" if summary.get("verdict") else ""
        return f"{_classified(summary)}{verdict} The graph has {size}. {shape}"
    if summary.get("objective") == "neighbours" and isinstance(summary.get("map"), int | float):
        ranks = (
            f"A node's neighbours are its nearest points with a mean average precision of {percent(summary['map'])}."
        )
        return f"{size} were placed in {space_name(run)}. {ranks} {shape}"
    average, error = summary.get("distortion"), summary.get("distortion_std_error")
    if not isinstance(average, int | float):
        return f"{size} were placed in {space_name(run)}. {shape}"
    value = f"{number(average)} ± {number(error)}" if error else number(average)
    distances = f"Distances there miss those in the graph by an average distortion of {value}."
    return f"{size} were placed in {space_name(run)}. {distances} {shape}"


def links_sentence(summary: dict[str, Any]) -> str:
    """The result of a link prediction in a sentence or two."""
    auc = summary.get("roc_auc")
    if not isinstance(auc, float):
        return "Links were predicted; none were hidden to test it."
    low, high = summary["intervals"]["roc_auc"]
    verdict = str(summary.get("verdict", ""))
    return (
        f"A hidden link scores above another pair with probability {auc:.3f} (ROC AUC, 95 % interval {low:.3f} – "
        f"{high:.3f}): {verdict}"
    )


def _classified(summary: dict[str, Any]) -> str:
    accuracy = summary.get("accuracy")
    if not isinstance(accuracy, int | float):
        return "A classifier was trained; no nodes were set aside to test it."
    interval = f" (95 % interval {_interval(summary['interval'])})" if summary.get("interval") else ""
    runs = summary.get("runs")
    mean = f", on average over {number(runs)} runs" if isinstance(runs, int) and runs > 1 else ""
    return f"The class of {percent(accuracy)} of the test nodes is predicted right{interval}{mean}."


def _meaning(curvatures: list[float], summary: dict[str, Any]) -> str:
    """The meaning of the curvatures' signs, with a warning if the other sign fits equally well."""
    known = [each for each in intervals_of(summary) if isinstance(each, dict)]
    unsure = sum(not each.get("identified", True) for each in known)
    if not unsure:
        return _shape(curvatures)
    undetermined = "the curvature" if len(known) == 1 else f"{unsure} of the {len(known)} curvatures"
    doubt = f"The sign of {undetermined} is not determined by this graph: the other sign would fit as well."
    return doubt if unsure == len(known) else f"{_shape(curvatures)} {doubt}"


def intervals_of(summary: dict[str, Any]) -> list[Any]:
    """Intervals of the curvatures; none for a run that ended before it had converged."""
    intervals = summary.get("curvature_intervals")
    ended = [each.get("stopped_by") for each in (summary, *summary.get("records", [])) if isinstance(each, dict)]
    return intervals if isinstance(intervals, list) and not {"epochs", "interrupted"} & set(ended) else []


def _shape(curvatures: list[float]) -> str:
    """The meaning of the curvatures' signs for the graph."""
    signs = {
        "negative curvature, which suits trees and hierarchies": any(k < 0 for k in curvatures),
        "positive curvature, which suits cycles and closed surfaces": any(k > 0 for k in curvatures),
        "no curvature, which suits grids and lines": any(k == 0 for k in curvatures),
    }
    present = [words for words, any_factor in signs.items() if any_factor]
    return f"The space has {'; and '.join(present)}." if present else ""
