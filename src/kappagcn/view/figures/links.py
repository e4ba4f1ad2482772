"""A link prediction in one picture: ROC curve, precision–recall curve, and scores of links and other pairs."""

import numpy as np
from matplotlib.figure import Figure

from kappagcn.run_folder import SavedRun
from kappagcn.view.figures.space import axes_for
from kappagcn.view.figures.style import Theme
from kappagcn.view.link_curves import link_curves


def link_scores(theme: Theme, run: SavedRun) -> Figure | None:
    """Three panels; None where a run has no test pairs."""
    links = run.links
    if links is None or not len(links.edge_scores) or not len(links.other_scores):
        return None
    curves, metrics = link_curves(links.edge_scores, links.other_scores), run.summary["metrics"]
    figure, (roc, precise, scores) = axes_for(3, width=4.3, height=4.0)
    roc.plot(curves.false_positives, curves.true_positives, color=theme.palette[0], linewidth=1.8)
    roc.plot([0, 1], [0, 1], color=theme.palette[1], linewidth=1.2, linestyle=(0, (4, 3)), label="chance")
    roc.set(xlabel="other pairs above the threshold", ylabel="hidden links above it", xlim=(0, 1), ylim=(0, 1.01))
    roc.set_title(f"ROC, AUC {metrics['roc_auc']:.3f}", size=10.5)
    roc.legend(loc="lower right")
    precise.plot(curves.recall, curves.precision, color=theme.palette[0], linewidth=1.8)
    precise.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.01))
    precise.set_title(f"average precision {metrics['average_precision']:.3f}", size=10.5)
    widths = np.diff(curves.borders)
    for shares, colour, label in (
        (curves.other_shares, theme.palette[1], "other pairs"),
        (curves.edge_shares, theme.palette[0], "hidden links"),
    ):
        scores.bar(curves.borders[:-1], 100 * shares, widths, align="edge", color=colour, alpha=0.55, label=label)
    scores.set(xlabel="log-odds of a link", ylabel="pairs, %")
    scores.legend()
    for axis in (roc, precise, scores):
        axis.grid(axis="y")
    figure.suptitle(f"{run.graph}: {run.summary['test_pairs']:,} test pairs", size=12)
    return figure
