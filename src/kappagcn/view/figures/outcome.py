"""Quality of a run in one picture: ratios of distances for embeddings, a confusion matrix for classifiers."""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from kappagcn.run_folder import SavedRun
from kappagcn.view.class_names import short_names
from kappagcn.view.figures.space import axes_for
from kappagcn.view.figures.style import Theme, blend

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
