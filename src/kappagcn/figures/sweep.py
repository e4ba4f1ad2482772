"""Distortion against curvature: one curve through hyperbolic, flat and spherical spaces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

from kappagcn.figures.embedding import EDGE, INK, NODE, RIM

__all__ = ["draw_sweep"]


def draw_sweep(
    kappas: Sequence[float],
    distortion: Sequence[float],
    flat: float,
    path: Path,
    *,
    close: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Path:
    """Average distortion by κ, with that of the Euclidean network as a line across.

    Args:
        kappas: In increasing order.
        distortion: For each of them.
        flat: Of the Euclidean network.
        path: Where to write; the name says whether PNG or SVG.
        close: The same for κ close to 0, drawn as an inset.
    """
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.hashsalt": "kappagcn"}):
        figure, axis = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
        axis.axvline(0, color=EDGE, linewidth=0.8)
        axis.axhline(flat, color=RIM, linewidth=1.2, linestyle="--", label=f"Euclidean GCN: {flat:.4f}")
        axis.plot(kappas, distortion, color=NODE, linewidth=1.2, marker="o", markersize=2.4, label="κ-GCN, κ fixed")
        axis.set(xlabel="κ", ylabel="average distortion", xlim=(min(kappas), max(kappas)))
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(colors=INK)
        axis.legend(frameon=False, loc="upper left")
        if close is not None:
            inset = axis.inset_axes((0.62, 0.16, 0.36, 0.42))
            inset.axvline(0, color=EDGE, linewidth=0.8)
            inset.axhline(flat, color=RIM, linewidth=1.2, linestyle="--")
            inset.plot(*close, color=NODE, linewidth=1.2, marker="o", markersize=2)
            inset.set_title("close to 0", fontsize=9, color=INK)
            inset.tick_params(labelsize=8, colors=INK)
            inset.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=150, facecolor="white", metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)
    return path
