"""Positions during training as frames, for the page."""

from typing import Any

import numpy as np

from kappagcn.run_folder import Array, Embedded, SavedRun, principal
from kappagcn.view.film import Film, read_film
from kappagcn.view.report.encoded import quantised

MOST_NUMBERS = 300_000  # most numbers in the frames of a page
OBJECTIVES = {"relative": "D_avg", "stress": "stress", "neighbours": "ranking loss"}


def film_view(run: SavedRun, shown: Array) -> dict[str, Any] | None:
    """Frames of training in the directions that the pictures show; None for a run without frames."""
    film = read_film(run)
    if film is None:
        return None
    numbers = 3 * len(film.epochs) * len(shown) * len(run.embedded.dims)
    film = film.every(-(-numbers // MOST_NUMBERS))
    values = [None if not np.isfinite(value) else float(f"{value:.5g}") for value in film.values.tolist()]
    return {
        "epochs": film.epochs.tolist(),
        "values": values,
        "objective": OBJECTIVES.get(str(run.summary.get("objective")), "distortion"),
        "curvatures": [[float(f"{k:.6g}") for k in row] for row in film.curvatures.tolist()],
        "factors": [_frames(parts[:, shown]) for parts in shown_parts(film, run.embedded)],
    }


def _frames(parts: Array) -> dict[str, object]:
    """Two coordinates and the length of the remaining ones, (T, N, 3), which is left out if it is 0."""
    lengths = np.concatenate([parts[..., :2], np.sqrt(parts[..., 2:])], axis=-1)
    kept = lengths if lengths[..., 2].any() else lengths[..., :2]
    return {"width": kept.shape[-1], **quantised(kept.reshape(len(kept), -1))}


def shown_parts(film: Film, embedded: Embedded) -> list[Array]:
    """Two coordinates of each factor along the result's directions, and the squared length of the rest, (T, N, 3)."""
    factors = []
    for _, columns in embedded.factors:
        final = embedded.tangent[:, columns].astype(np.float64)
        dim = final.shape[1]
        axes = np.eye(dim) if dim <= 2 else principal(final)[0]
        along = film.tangent[:, :, columns].astype(np.float64) @ axes
        parts = np.zeros((*along.shape[:2], 3))
        parts[..., : min(dim, 2)] = along[..., :2]
        parts[..., 2] = (along[..., 2:] ** 2).sum(-1)
        factors.append(parts)
    return factors
