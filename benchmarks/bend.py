"""Why the sweep over curvatures bends at small positive κ: how far out the rows lie that the second layer averages.

python benchmarks/bend.py
"""

from __future__ import annotations

import math
import sys
import warnings

import record
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.graphs import load_graph
from kappagcn.nn import message_passing
from kappagcn.paper.embeddings import SWEPT

CURVATURES = (0.002, 0.004, 0.006, 0.008, 0.01, 0.012, 0.016, 0.02)


def measure(kappa: float) -> dict[str, float]:
    """Distortion, and the farthest rows before and after the last average as shares of the way to the equator."""
    last = {}
    aggregate = message_passing.aggregate

    def watched(v, *arguments, **options):
        rows = aggregate(v, *arguments, **options)
        last["averaged"], last["averages"] = v.detach(), rows.detach()
        return rows

    message_passing.aggregate = watched
    try:
        embedder = GraphEmbedder(f"U10({kappa})", **SWEPT, random_state=0, verbose=False, intervals=False)
        embedder.fit(load_graph("small_tree"))
    finally:
        message_passing.aggregate = aggregate
    equator = math.pi / 2 / math.sqrt(kappa)
    shares = {name: float(2 * rows.norm(dim=1).max()) / equator for name, rows in last.items()}
    return {"kappa": kappa, "distortion": embedder.distortion_, **shares}


def main() -> int:
    warnings.simplefilter("ignore")
    rows = []
    for kappa in CURVATURES:
        rows.append(measure(kappa))
        print({name: round(value, 4) for name, value in rows[-1].items()}, flush=True)
    record.save("bend", {"results": rows}, ("torch", "kappagcn"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
