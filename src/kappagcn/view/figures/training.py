"""A run by epoch: losses, accuracies and curvatures, and the epoch whose weights were kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kappagcn.run_folder import Array, SavedRun, factor_name
from kappagcn.view.figures.space import axes_for, minus, signs
from kappagcn.view.figures.style import Theme

LOSSES = {
    "distortion": "average distortion",
    "train_loss": "training loss",
    "stopping_loss": "early-stopping loss",
    "validation_loss": "validation loss",
}
ACCURACIES = {"train_accuracy": "training", "stopping_accuracy": "early stopping", "validation_accuracy": "validation"}
MOST_LINES = 10  # most lines in a legend; more would hide the curves


def series(metrics: Sequence[dict[str, Any]], name: str) -> tuple[list[int], list[float]]:
    """The epochs that have a value, and the values."""
    records = [each for each in metrics if each.get(name) is not None]
    return [each["epoch"] for each in records], [each[name] for each in records]


def training(theme: Theme, run: SavedRun) -> Figure:
    """Loss or distortion by epoch, and accuracy where there is one."""
    present = {name for each in run.metrics for name in each}
    # The training loss of an embedding is its distortion, an epoch earlier.
    losses = ["distortion"] if "distortion" in present else [name for name in LOSSES if name in present]
    accuracies = [name for name in ACCURACIES if name in present]
    figure, axes = axes_for(2 if accuracies else 1, width=4.8 if accuracies else 6.4, height=3.7)
    _curves(axes[0], run, {name: LOSSES[name] for name in losses}, theme)
    axes[0].set_ylabel("average distortion" if losses == ["distortion"] else "loss")
    values = [value for name in losses for value in series(run.metrics, name)[1]]
    if values and min(values) > 0 and max(values) > 10 * min(values):
        axes[0].set_yscale("log")
    if accuracies:
        _curves(axes[1], run, {name: ACCURACIES[name] for name in accuracies}, theme)
        axes[1].set(ylabel="accuracy", ylim=(min(0, *axes[1].get_ylim()), 1))
    figure.suptitle(outcome(run), size=12)
    return figure


def outcome(run: SavedRun) -> str:
    """The result of a run in one line."""
    accuracy, distortion = run.summary.get("accuracy"), run.summary.get("distortion")
    if run.kind == "classification":
        return f"{run.graph}: test accuracy {accuracy:.3f}" if isinstance(accuracy, int | float) else run.graph
    auc = run.summary.get("roc_auc")
    if run.kind == "links" and isinstance(auc, int | float):
        return f"{run.graph}: test AUC {auc:.3f}"
    return f"{run.graph}: average distortion {distortion:.4f}" if distortion is not None else run.graph


def _curves(axis: Any, run: SavedRun, names: dict[str, str], theme: Theme) -> None:
    best = run.summary.get("best_epoch")
    for number, (name, words) in enumerate(names.items()):
        epochs, values = series(run.metrics, name)
        colour = theme.palette[number]
        axis.plot(epochs, values, color=colour, linestyle=("-", "--", "-.")[number], label=words)
        if best in epochs:
            value = values[epochs.index(best)]
            axis.scatter(best, value, s=44, color=colour, edgecolors=theme.background, zorder=4)
    if best is not None:
        _mark_epoch(axis, best, theme)
    axis.set_xlabel("epoch")
    axis.grid(axis="y")
    axis.margins(x=0.02)
    axis.legend()


def _mark_epoch(axis: Any, epoch: int, theme: Theme) -> None:
    axis.axvline(epoch, color=theme.muted, linewidth=1, linestyle=":", label=f"best epoch, {epoch:,}")


def curvature_history(run: SavedRun) -> tuple[list[int], Array]:
    """Epochs and curvatures, (epochs, layers · factors), in the units of the run's points."""
    records = [each for each in run.metrics if each.get("curvatures")]
    # Embeddings are trained in units of the mean edge; a curvature is one over a length squared.
    unit = float(run.summary.get("edge_unit", 1.0))
    return [each["epoch"] for each in records], np.array([each["curvatures"] for each in records], float) / unit**2


def _curve_name(run: SavedRun, layer: int, factor: int) -> str:
    """Name of a factor's curvature in one layer; embeddings list that of their points before hidden layers."""
    dims, kappas = run.embedded.dims, run.embedded.curvatures
    name = f"{'' if len(dims) == 1 else f'factor {factor + 1}, '}{factor_name(kappas[factor], dims[factor])}"
    if not layer:
        return name
    return f"{name}, hidden layer" if run.kind == "embedding" else f"{name}, layer {layer + 1}"


def curvature(theme: Theme, run: SavedRun) -> Figure | None:
    """Curvature of each factor by epoch, hidden layers with curvatures of their own dashed; None where all is flat."""
    epochs, kappas = curvature_history(run)
    if not epochs or not kappas.any():
        return None
    best = run.summary.get("best_epoch")
    kept = epochs.index(best) if best in epochs else -1
    figure, (axis,) = axes_for(1, width=7.6, height=3.7)
    for column, values in enumerate(kappas.T):
        layer, factor = divmod(column, len(run.embedded.dims))
        if values.any():
            style = {"color": theme.palette[factor % len(theme.palette)], "linestyle": (0, (4, 2)) if layer else "-"}
            label = minus(f"{_curve_name(run, layer, factor)}: κ = {values[kept]:.3g}")
            axis.plot(epochs, values, label=label, **style)
    if best in epochs:
        _mark_epoch(axis, best, theme)
    low, high = axis.get_ylim()
    if low < 0 < high or min(abs(low), abs(high)) < high - low:
        low, high = min(low, -0.05 * (high - low)), max(high, 0.05 * (high - low))
    axis.set_ylim(low, high)
    axis.margins(x=0)
    signs(axis, theme)
    axis.set(xlabel="epoch", ylabel="κ")
    handles, labels = axis.get_legend_handles_labels()
    if len(handles) <= MOST_LINES:
        figure.legend(handles, labels, loc="outside right center")
    figure.suptitle(f"{run.graph}: curvature while it is learned", size=12)
    return figure
