"""How well the space is determined: the range of each curvature, and the candidates of an automatic choice."""

import math
from html import escape
from itertools import pairwise
from typing import Any

from kappagcn.run_folder import SavedRun, factor_name
from kappagcn.view.report.words import intervals_of, number, percent

WIDTH, HEIGHT, MARGIN = 360, 150, 34
MOST_RISE = 0.03  # rise of the objective at the upper edge of a picture
TOLERANCE = 0.01


def intervals_section(run: SavedRun) -> str:
    """A picture for each learned curvature: the objective by κ, and the range within 1 %; empty without any."""
    intervals = intervals_of(run.summary)
    if not any(isinstance(each, dict) for each in intervals):
        return ""
    pictures = [
        f"<figure><figcaption>{escape(title)}: {_interval_text(each)}</figcaption>{_picture(each)}</figure>"
        for title, each in zip(_titles(run, len(intervals)), intervals, strict=True)
        if isinstance(each, dict) and each.get("profile")
    ]
    objective = "cross-entropy on validation nodes, weights fixed" if run.kind == "classification" else "objective"
    refined = "" if run.kind == "classification" else ", points refined at each value"
    return (
        '<section class="card" id="intervals"><h2>How well each curvature is determined</h2>'
        f"<p class='note'>The {objective}, as a curvature is moved{refined}. Shaded: where it is "
        "at most 1 % above that of the learned κ, the upright line. Local: around the minimum of this run; "
        "another seed may end elsewhere.</p>"
        f'<div class="profiles">{"".join(pictures)}</div></section>'
    )


def _titles(run: SavedRun, count: int) -> list[str]:
    """Factors of an embedding; a classifier has curvatures in each of its layers."""
    if run.kind == "classification":
        return ["learned curvature"] if count == 1 else [f"curvature {place}" for place in range(1, count + 1)]
    pairs = zip(run.embedded.curvatures.tolist(), run.embedded.dims.tolist(), strict=True)
    names = [factor_name(kappa, dim) for kappa, dim in pairs]
    return [f"{name}, factor {place}" for place, name in enumerate(names, 1)] if count > 1 else names


def _interval_text(interval: dict[str, Any]) -> str:
    low, high = interval["low"], interval["high"]
    if low is None and high is None:
        return "any curvature that was tried fits as well"
    bounds = f"{'−∞' if low is None else number(low)} to {'∞' if high is None else number(high)}"
    extent = "locally as good" if interval.get("local", True) else "as good"
    ends = f"κ = {number(interval['kappa'])}, {extent} from {bounds}"
    return ends if interval["identified"] else f"{ends}; its sign is not determined"


def _picture(interval: dict[str, Any]) -> str:
    learned = float(interval["kappa"])
    profile = sorted((float(kappa), float(value)) for kappa, value in interval["profile"])
    reference = min(profile, key=lambda pair: abs(pair[0] - learned))[1]
    ends = [float(each) for each in (interval["low"], interval["high"]) if each is not None]
    crossings = [(each, reference * (1 + TOLERANCE)) for each in ends if each not in dict(profile)]
    profile = sorted(profile + crossings)
    unit = max(abs(learned), 1e-300)
    places = [math.asinh(kappa / unit) for kappa, _ in profile]
    left, right = places[0], places[-1] if places[-1] > places[0] else places[0] + 1

    def x(kappa: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (math.asinh(kappa / unit) - left) / (right - left)

    def rise(value: float) -> float:
        return value / reference - 1 if reference > 0 else 0.0

    bottom = min(rise(value) for _, value in profile)  # below 0 where training stopped before the least value

    def y(height: float) -> float:
        return HEIGHT - 24 - (HEIGHT - 40) * (height - bottom) / (MOST_RISE - bottom)

    inside = _below([(x(kappa), rise(value)) for kappa, value in profile], MOST_RISE)
    line = " ".join(f"{place:.1f},{y(height):.1f}" for place, height in inside)
    low = x(profile[0][0]) if interval["low"] is None else x(float(interval["low"]))
    high = x(profile[-1][0]) if interval["high"] is None else x(float(interval["high"]))
    limit, own, base = y(TOLERANCE), x(learned), HEIGHT - 24
    labels = "".join(
        f'<text x="{place:.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">κ = {number(kappa)}</text>'
        for kappa, place, anchor in ((profile[0][0], MARGIN, "start"), (profile[-1][0], WIDTH - MARGIN, "end"))
    )
    return (
        f'<svg class="profile" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Objective by curvature">'
        f'<rect x="{low:.1f}" y="8" width="{max(high - low, 1):.1f}" height="{base - 8}" class="range"/>'
        f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{limit:.1f}" y2="{limit:.1f}" class="limit"/>'
        f'<text x="{WIDTH - MARGIN + 3}" y="{limit + 4:.1f}">+1 %</text>'
        f'<line x1="{own:.1f}" x2="{own:.1f}" y1="8" y2="{base}" class="own"/>'
        f'<polyline points="{line}" class="curve"/>{labels}</svg>'
    )


def _below(points: list[tuple[float, float]], top: float) -> list[tuple[float, float]]:
    """The line through points, cut where it crosses the height `top`."""
    line: list[tuple[float, float]] = []
    for (x, y), (end, height) in pairwise([points[0], *points]):
        if (y > top) != (height > top):
            line.append((x + (end - x) * (top - y) / (height - y), top))
        line.append((end, min(height, top)))
    while len(line) > 2 and line[0][1] == line[1][1] == top:
        line.pop(0)
    while len(line) > 2 and line[-1][1] == line[-2][1] == top:
        line.pop()
    return line


def choice_section(run: SavedRun) -> str:
    """The candidates of --space auto as a table, with the reason; empty if the space was not chosen automatically."""
    choice = run.summary.get("choice")
    if not isinstance(choice, dict) or not isinstance(choice.get("candidates"), list):
        return ""
    rows = "".join(
        f"<tr><th scope='row'>{escape(str(each['space']))}</th><td>{number(each['d_avg'])}</td>"
        f"<td>{percent(each['map'])}</td><td>{number(each['epochs'])}</td><td>{escape(str(each['learned_space']))}</td></tr>"
        for each in choice["candidates"]
    )
    return (
        f'<section class="card" id="choice"><h2>Why this space</h2><p class="note">{escape(str(choice["reason"]))}</p>'
        '<div class="wide"><table><thead><tr><th scope="col">Space</th><th scope="col">D_avg</th>'
        '<th scope="col">Mean average precision</th><th scope="col">Epochs</th><th scope="col">Learned</th></tr>'
        "</thead>"
        f"<tbody>{rows}</tbody></table></div></section>"
    )
