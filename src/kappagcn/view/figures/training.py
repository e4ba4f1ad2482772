"""A run by epoch: the charts of the page as pictures, with the epoch whose weights were kept."""

from typing import Any

from matplotlib.figure import Figure

from kappagcn.run_folder import SavedRun, factor_name
from kappagcn.view.curves import curvature_columns, curves
from kappagcn.view.figures.space import axes_for, minus, signs
from kappagcn.view.figures.style import Theme

MOST_LINES = 10  # most lines in a legend; more would hide the curves


def training(theme: Theme, run: SavedRun) -> Figure | None:
    """The objective, or losses and scores, by epoch; None for a run of one epoch."""
    charts = curves(run, [])
    if not charts:
        return None
    figure, axes = axes_for(len(charts), width=4.8 if len(charts) > 1 else 6.4, height=3.7)
    for axis, chart in zip(axes, charts, strict=True):
        for number, series in enumerate(chart["series"]):
            points = [pair for pair in zip(chart["epochs"], series["values"], strict=True) if pair[1] is not None]
            colour = theme.palette[number]
            axis.plot(
                *zip(*points, strict=True), color=colour, linestyle=("-", "--", "-.")[number], label=series["name"]
            )
            if chart["best"] in dict(points):
                value = dict(points)[chart["best"]]
                axis.scatter(chart["best"], value, s=44, color=colour, edgecolors=theme.background, zorder=4)
        _mark_epoch(axis, chart["best"], theme)
        axis.set(xlabel="epoch", ylabel=chart["title"], yscale="log" if chart["log"] else "linear")
        if chart["share"]:
            axis.set_ylim(min(0, *axis.get_ylim()), 1)
        axis.grid(axis="y")
        axis.margins(x=0.02)
        axis.legend()
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


def _mark_epoch(axis: Any, epoch: float | None, theme: Theme) -> None:
    if epoch is not None:
        axis.axvline(epoch, color=theme.muted, linewidth=1, linestyle=":", label=f"best epoch, {epoch:,.0f}")


def _curve_name(run: SavedRun, layer: int, factor: int) -> str:
    """Name of a factor's curvature in one layer; embeddings list that of their points before hidden layers."""
    dims, kappas = run.embedded.dims, run.embedded.curvatures
    name = f"{'' if len(dims) == 1 else f'factor {factor + 1}, '}{factor_name(kappas[factor], dims[factor])}"
    if not layer:
        return name
    return f"{name}, hidden layer" if run.kind == "embedding" else f"{name}, layer {layer + 1}"


def curvature(theme: Theme, run: SavedRun) -> Figure | None:
    """Curvature of each factor by epoch, hidden layers with curvatures of their own dashed; None where all is flat."""
    epochs, kappas = curvature_columns(run)
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
    _mark_epoch(axis, best if best in epochs else None, theme)
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
