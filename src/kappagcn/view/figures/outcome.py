"""Results of a run in one picture: ratios of distances, a confusion matrix, or curves of a link prediction."""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from kappagcn.run_folder import SavedRun
from kappagcn.view.curves import link_curves
from kappagcn.view.figures.space import axes_for
from kappagcn.view.figures.style import Theme, blend
from kappagcn.view.palette import short_names

WRITTEN = 16  # number of classes up to which counts are written into the cells


def distortion(theme: Theme, run: SavedRun) -> Figure | None:
    """Histogram of d/d_G over all pairs; None where a run has none."""
    edges, counts = run.embedded.ratio_edges, run.embedded.ratio_counts
    if edges is None or counts is None or not counts.sum():
        return None
    figure, (axis,) = axes_for(1, width=6.4, height=3.7)
    shares = 100 * counts / counts.sum()
    axis.bar(edges[:-1], shares, np.diff(edges), align="edge", color=theme.palette[0], linewidth=0)
    axis.axvline(1, color=theme.palette[1], linewidth=1.6, linestyle=(0, (4, 3)), label="as far as in the graph")
    axis.set(xlabel="distance in the space / distance in the graph", ylabel="pairs of nodes, %")
    used = np.flatnonzero(counts)
    axis.set_xlim(min(edges[used[0]], 0.9), max(edges[used[-1] + 1], 1.1))
    axis.grid(axis="y")
    axis.legend()
    average = run.summary.get("distortion")
    figure.suptitle(run.graph + ("" if average is None else f": average distortion {average:.4f}"), size=12)
    return figure


def confusion(theme: Theme, run: SavedRun) -> Figure | None:
    """Test nodes by class (rows, in shares of the class) and prediction; None for a run without test nodes."""
    counts = run.confusion()
    if counts is None or not counts.sum():
        return None
    classes = len(counts)
    class_names = run.embedded.class_names
    names = short_names(range(classes) if class_names is None else class_names)
    side = float(np.clip(2.6 + 0.42 * classes, 4, 11))
    figure, (axis,) = axes_for(1, width=side + 1, height=side)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    colours = blend([theme.middle, theme.poles[0]])
    image = axis.imshow(shares, cmap=colours, vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts) if classes <= WRITTEN else ():
        light = np.dot(to_rgb(colours(shares[row, column])), (0.299, 0.587, 0.114)) > 0.55
        ink = "#111111" if light else "#ffffff"
        axis.text(column, row, f"{count:,}", ha="center", va="center", size=8.5, color=ink)
    axis.set_xticks(range(classes), names, rotation=45, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(classes), names)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set(xlabel="predicted class", ylabel="class")
    figure.colorbar(image, ax=axis, label="share of the class", shrink=0.8)
    right = counts.trace() / counts.sum()
    figure.suptitle(f"{run.graph}: {right:.1%} of {counts.sum():,} test nodes right in the run kept", size=12)
    return figure


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
