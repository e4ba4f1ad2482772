"""How well each curvature is determined: charts of the objective by κ, from the intervals of a run."""

from typing import Any

from kappagcn.run_folder import SavedRun, factor_name
from kappagcn.view.report.words import intervals_of, number

TOLERANCE = 0.01


def interval_charts(run: SavedRun) -> list[dict[str, Any]]:
    """A chart for each learned curvature: the rise of the objective by κ, and the range within 1 %."""
    intervals = intervals_of(run.summary)
    return [
        _chart(f"{title}: {_words(interval)}", interval)
        for title, interval in zip(_titles(run, len(intervals)), intervals, strict=True)
        if isinstance(interval, dict) and interval.get("profile")
    ]


def intervals_note(run: SavedRun) -> str:
    """What was moved and what stayed."""
    objective = "objective", ", points refined at each value"
    if run.kind == "classification":
        objective = "cross-entropy on validation nodes, weights fixed", ""
    return (
        f"The {objective[0]}, as a curvature is moved{objective[1]}. Shaded: where it is at most 1 % above that of the "
        "learned κ, the upright line. Local: around the minimum of this run; another seed may end elsewhere."
    )


def _titles(run: SavedRun, count: int) -> list[str]:
    """Factors of an embedding; a classifier has curvatures in each of its layers."""
    if run.kind == "classification":
        return ["learned curvature"] if count == 1 else [f"curvature {place}" for place in range(1, count + 1)]
    pairs = zip(run.embedded.curvatures.tolist(), run.embedded.dims.tolist(), strict=False)
    names = [factor_name(kappa, dim) for kappa, dim in pairs][:count]
    return [f"{name}, factor {place}" for place, name in enumerate(names, 1)] if count > 1 else names


def _words(interval: dict[str, Any]) -> str:
    low, high = interval["low"], interval["high"]
    if low is None and high is None:
        return "any curvature that was tried fits as well"
    bounds = f"{'−∞' if low is None else number(low)} to {'∞' if high is None else number(high)}"
    extent = "locally as good" if interval.get("local", True) else "as good"
    ends = f"κ = {number(interval['kappa'])}, {extent} from {bounds}"
    return ends if interval["identified"] else f"{ends}; its sign is not determined"


def _chart(title: str, interval: dict[str, Any]) -> dict[str, Any]:
    learned = float(interval["kappa"])
    profile = [(float(kappa), float(value)) for kappa, value in interval["profile"]]
    reference = min(profile, key=lambda pair: abs(pair[0] - learned))[1]
    ends = [float(end) for end in (interval["low"], interval["high"]) if end is not None]
    crossings = [(end, reference * (1 + TOLERANCE)) for end in ends if end not in dict(profile)]
    kappas, values = zip(*sorted(profile + crossings), strict=True)
    return {
        "kind": "profile",
        "title": title,
        "x": list(kappas),
        "rises": [value / reference - 1 if reference > 0 else 0.0 for value in values],
        "range": [interval["low"], interval["high"]],
        "limit": TOLERANCE,
        "learned": learned,
    }
