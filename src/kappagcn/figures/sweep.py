"""Distortion against curvature: one curve through hyperbolic, flat and spherical spaces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

from kappagcn.figures.embedding import EDGE, INK, NODE, RIM

__all__ = ["draw_sweep"]


def draw_sweep(kappas: Sequence[float], distortion: Sequence[float], flat: float, path: Path) -> Path:
    """Average distortion by κ, with that of the Euclidean network as a line across.

    Args:
        kappas: In increasing order.
        distortion: For each of them.
        flat: Of the Euclidean network.
        path: Where to write; the name says whether PNG or SVG.
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
        axis.legend(frameon=False)
        figure.savefig(path, dpi=150, facecolor="white", metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)
    return path
