"""A link prediction on the page: its metrics, ROC and precision–recall curves, scores, and missing links by name."""

from typing import Any

from kappagcn.run_folder import Links, SavedRun
from kappagcn.view.curves import link_curves
from kappagcn.view.report.tables import Table
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


def link_sections(run: SavedRun) -> dict[str, Any] | None:
    """The metrics, the number of test pairs, and the missing links; None for runs of another kind."""
    if run.links is None:
        return None
    return {
        "metrics": _metrics_table(run.summary),
        "test_pairs": number(run.summary.get("test_pairs")),
        "missing": _missing_table(run.links),
    }


def link_charts(run: SavedRun) -> list[dict[str, Any]]:
    """Both curves and the scores; none without test pairs."""
    links = run.links
    if links is None or not len(links.edge_scores) or not len(links.other_scores):
        return []
    curves, metrics = link_curves(links.edge_scores, links.other_scores), run.summary["metrics"]
    unit = {"kind": "curve", "bounds": [0, 1]}
    return [
        unit | {
            "title": f"ROC curve, AUC {metrics['roc_auc']:.3f}",
            "x": _rounded(curves.false_positives), "xLabel": "other pairs above the threshold",
            "series": [{"name": "hidden links above it", "values": _rounded(curves.true_positives)}],
            "diagonal": True,
        },
        unit | {
            "title": f"Precision and recall, average {metrics['average_precision']:.3f}",
            "x": _rounded(curves.recall), "xLabel": "recall: hidden links found",
            "series": [{"name": "precision: links among pairs found", "values": _rounded(curves.precision)}],
        },
        {
            "kind": "histogram", "title": "Scores", "xLabel": "log-odds of a link", "borders": _rounded(curves.borders),
            "series": [
                {"name": "hidden links", "shares": _rounded(curves.edge_shares)},
                {"name": "other pairs", "shares": _rounded(curves.other_shares)},
            ],
        },
    ]  # fmt: skip


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.5g}") for value in values.tolist()]


def _metrics_table(summary: dict[str, Any]) -> Table | None:
    metrics, baselines = summary.get("metrics") or {}, summary.get("baselines") or {}
    others = summary.get("test_pairs", 0) // 2
    always_one = {name for name in metrics if name.startswith("hits@") and others < int(name.removeprefix("hits@"))}
    rows = []
    for name, (label, meaning) in METRICS.items():
        if name in metrics and name not in always_one:
            low, high = summary["intervals"][name]
            values = [
                f"{metrics[name]:.3f}",
                f"{low:.3f} – {high:.3f}",
                *(f"{b[name]:.3f}" for b in baselines.values()),
            ]
            rows.append([f"{label}\n{meaning}", *values])
    verdict = str(summary.get("verdict", ""))
    note = (
        f"{verdict[:1].upper()}{verdict[1:]} Other columns are simple scores of the same pairs, from the graph alone."
    )
    return Table(["", "this run", "95 % interval", *map(str, baselines)], rows, note) if rows else None


def _missing_table(links: Links) -> Table | None:
    pairs = list(zip(links.sources.tolist(), links.targets.tolist(), links.probabilities.tolist(), strict=True))
    rows = [[str(place), str(a), str(b), f"{p:.4f}"] for place, (a, b, p) in enumerate(pairs[:LISTED], 1)]
    more = f" These are the first {len(rows)} of {len(pairs)} kept." if len(pairs) > len(rows) else ""
    note = (
        "Pairs without an edge, by the probability of one. It is calibrated to as many links as other pairs: read it "
        f"as an order.{more}"
    )
    return Table(["", "node", "node", "probability"], rows, note) if rows else None
