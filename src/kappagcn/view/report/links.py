"""The section of a link prediction: its metrics, ROC and precision–recall curves, scores, and missing links by name."""

from collections.abc import Sequence
from html import escape
from typing import Any

from kappagcn.run_folder import Array, Links, SavedRun
from kappagcn.view.link_curves import LinkCurves, link_curves
from kappagcn.view.report.words import number

METRICS = {
    "roc_auc": ("ROC AUC", "a hidden link scores above another pair; 0.5 is chance"),
    "average_precision": ("Average precision", "how pure the list of pairs by score is"),
    "hits@10": ("Hits@10", "hidden links above the 10th best other pair"),
    "hits@50": ("Hits@50", "above the 50th"),
    "hits@100": ("Hits@100", "above the 100th"),
    "mrr": ("MRR", "mean of 1/rank of a hidden link among the other pairs"),
}
LISTED = 50
SIDE, MARGIN = 220, 34  # size of a chart
EDGE, OTHER = "edges", "others"  # classes of the style sheet, whose colours follow the theme


def links_section(run: SavedRun) -> str:
    """HTML of a link prediction; empty for runs of another kind."""
    links = run.links
    if links is None:
        return ""
    parts = [_metrics_table(run.summary)]
    if len(links.edge_scores) and len(links.other_scores):
        parts.append(_charts(link_curves(links.edge_scores, links.other_scores), run.summary))
    return "".join(parts) + _missing(links)


def _metrics_table(summary: dict[str, Any]) -> str:
    metrics, baselines = summary.get("metrics") or {}, summary.get("baselines") or {}
    if not metrics:
        return ""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("", "this run", "95 % interval", *baselines))
    rows = []
    others = summary.get("test_pairs", 0) // 2
    always_one = {name for name in metrics if name.startswith("hits@") and others < int(name.removeprefix("hits@"))}
    for name, (label, meaning) in METRICS.items():
        if name in metrics and name not in always_one:
            low, high = summary["intervals"][name]
            cells = [f"{metrics[name]:.3f}", f"{low:.3f} – {high:.3f}", *(f"{b[name]:.3f}" for b in baselines.values())]
            values = "".join(f"<td>{cell}</td>" for cell in cells)
            rows.append(f'<tr><th scope="row">{label}<small> {meaning}</small></th>{values}</tr>')
    return (
        '<section class="card" id="link-metrics"><h2>How well hidden links are predicted</h2>'
        f"<p class='note'>{escape(_sentence(summary.get('verdict', '')))} Other columns are simple scores of the same "
        'pairs, from the graph alone.</p><div class="wide" tabindex="0" role="region" aria-label="Metrics">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _sentence(text: Any) -> str:
    return str(text)[:1].upper() + str(text)[1:]


def _charts(curves: LinkCurves, summary: dict[str, Any]) -> str:
    auc, precision = summary["metrics"]["roc_auc"], summary["metrics"]["average_precision"]
    charts = [
        _line_chart(
            f"ROC curve, AUC {auc:.3f}", curves.false_positives, curves.true_positives,
            "other pairs above the threshold", "hidden links above it", diagonal=True,
        ),
        _line_chart(
            f"Precision and recall, average {precision:.3f}", curves.recall, curves.precision,
            "recall: hidden links found", "precision: links among pairs found",
        ),
        _histogram(curves),
    ]  # fmt: skip
    return (
        '<section class="card" id="link-curves"><h2>Hidden links against other pairs</h2>'
        f"<p class='note'>Test pairs of the run shown, {number(summary.get('test_pairs'))} in all, half of them links."
        f'</p><div class="link-charts">{"".join(charts)}</div></section>'
    )


def _frame(title: str, inside: str, x: str, y: str) -> str:
    """A chart as SVG, with axes from 0 to 1 unless the chart has its own."""
    end = SIDE + MARGIN
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {end + 16} {end + 16}" role="img" '
        f'aria-label="{escape(title)}" width="{end + 16}" height="{end + 16}">'
        f'<rect x="{MARGIN}" y="8" width="{SIDE}" height="{SIDE}" fill="none" stroke="currentColor" opacity="0.35"/>'
        f"{inside}"
        f'<text x="{MARGIN + SIDE / 2}" y="{end + 8}" text-anchor="middle" font-size="11" fill="currentColor">{x}'
        "</text>"
        f'<text x="11" y="{8 + SIDE / 2}" text-anchor="middle" font-size="11" fill="currentColor" '
        f'transform="rotate(-90 11 {8 + SIDE / 2})">{y}</text></svg></figure>'
    )


def _ticks(low: str, high: str, first: str, last: str) -> str:
    """Labels at the ends of both axes."""
    text = '<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="10" fill="currentColor">{value}</text>'
    places = [
        (MARGIN, SIDE + 20, "start", low), (MARGIN + SIDE, SIDE + 20, "end", high),
        (MARGIN - 4, SIDE + 8, "end", first), (MARGIN - 4, 17, "end", last),
    ]  # fmt: skip
    return "".join(text.format(x=x, y=y, anchor=anchor, value=value) for x, y, anchor, value in places)


def _points(x: Array, y: Array) -> str:
    return " ".join(f"{MARGIN + SIDE * a:.1f},{8 + SIDE * (1 - b):.1f}" for a, b in zip(x, y, strict=True))


def _line_chart(title: str, x: Array, y: Array, x_label: str, y_label: str, *, diagonal: bool = False) -> str:
    chance = (
        f'<line x1="{MARGIN}" y1="{8 + SIDE}" x2="{MARGIN + SIDE}" y2="8" stroke="currentColor" opacity="0.4" '
        'stroke-dasharray="4 4"/>'
    )
    line = f'<polyline points="{_points(x, y)}" fill="none" class="line {EDGE}"/>'
    return _frame(title, (chance if diagonal else "") + line + _ticks("0", "1", "0", "1"), x_label, y_label)


def _histogram(curves: LinkCurves) -> str:
    most = max(curves.edge_shares.max(), curves.other_shares.max(), 1e-9)
    width = SIDE / len(curves.edge_shares)
    bars = []
    for colour, shares in ((OTHER, curves.other_shares), (EDGE, curves.edge_shares)):
        for i, share in enumerate((shares / most).tolist()):
            height = SIDE * share * 0.96
            bars.append(
                f'<rect x="{MARGIN + i * width:.2f}" y="{8 + SIDE - height:.1f}" width="{width:.2f}" '
                f'height="{height:.1f}" class="{colour}" opacity="0.55"/>'
            )
    keys = "".join(
        f'<rect x="{MARGIN + 8}" y="{y}" width="9" height="9" class="{colour}" opacity="0.7"/>'
        f'<text x="{MARGIN + 22}" y="{y + 8.5}" font-size="10.5" fill="currentColor">{word}</text>'
        for y, colour, word in ((14, EDGE, "hidden links"), (28, OTHER, "other pairs"))
    )
    ends = (f"{curves.borders[0]:.1f}".replace("-", "−"), f"{curves.borders[-1]:.1f}".replace("-", "−"))
    inside = "".join(bars) + keys + _ticks(*ends, "0", f"{100 * most:.0f} %")
    return _frame("Scores", inside, "log-odds of a link", "share of pairs")


def _rows(links: Links) -> Sequence[str]:
    columns = (links.sources.tolist(), links.targets.tolist(), links.probabilities.tolist())
    return [
        f"<tr><td>{place}</td><td>{escape(str(a))}</td><td>{escape(str(b))}</td><td>{p:.4f}</td></tr>"
        for place, (a, b, p) in enumerate(list(zip(*columns, strict=True))[:LISTED], 1)
    ]


def _missing(links: Links) -> str:
    rows = _rows(links)
    if not rows:
        return ""
    more = f" These are the first {len(rows)} of {len(links.sources)} kept." if len(links.sources) > len(rows) else ""
    return (
        '<section class="card" id="missing-links"><h2>The most probable missing links</h2>'
        "<p class='note'>Pairs without an edge, by the probability of one. It is calibrated to as many links as other "
        f"pairs: read it as an order.{more}</p>"
        '<div class="wide" tabindex="0" role="region" aria-label="Missing links"><table><thead><tr>'
        '<th scope="col"></th><th scope="col">node</th><th scope="col">node</th><th scope="col">probability</th>'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )
