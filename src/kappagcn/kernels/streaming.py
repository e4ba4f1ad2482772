"""One pass of a streaming partition compiled by numba: each node goes to the part that holds most of its neighbours."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["assign_rows"]

Array = NDArray[Any]


@numba.njit(nogil=True, cache=True)
def assign_rows(
    first: int, starts: Array, neighbours: Array, owner: Array, load: Array, per_edge: float, limit: float
) -> int:
    """Choose a part for the nodes of a block of rows: that with the largest |N(v) ∩ P|·(1 − load/limit).

    Nodes that have a part already are taken out of it first, so that further passes improve the choice. Of equal
    parts the one with the smallest load is chosen.

    Args:
        first: Number of the first node of the block.
        starts: Where the neighbours of each node start, (B + 1,).
        neighbours: Neighbours of the nodes of the block.
        owner: Part of every node, −1 for none yet, (N,); changed.
        load: Load of each part, (P,); changed.
        per_edge: Load of an edge; that of a node is ½.
        limit: Largest load of a part.

    Returns:
        Number of entries whose nodes are in one part, as far as they are assigned.
    """
    parts, within = load.shape[0], 0
    shared = np.zeros(parts, np.int64)
    for i in range(starts.shape[0] - 1):
        shared[:] = 0
        for entry in range(starts[i], starts[i + 1]):
            part = owner[neighbours[entry]]
            if part >= 0:
                shared[part] += 1
        own = 0.5 + per_edge * (starts[i + 1] - starts[i])
        if owner[first + i] >= 0:
            load[owner[first + i]] -= own
        best, best_score = -1, -1.0
        for part in range(parts):
            if load[part] + own <= limit:
                score = shared[part] * (1 - load[part] / limit)
                if score > best_score or (score == best_score and load[part] < load[best]):
                    best, best_score = part, score
        if best < 0:
            best = int(np.argmin(load))
        owner[first + i] = best
        load[best] += own
        within += shared[best]
    return within
