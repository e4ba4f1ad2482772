"""How curved the built-in graphs and the datasets are: what `kappagcn info` finds for each.

    python benchmarks/curvature.py           describes all, keeps records/curvature.json

KAPPAGCN_DATA must name a folder with the datasets.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import record
from kappagcn import graphs

BUILT_IN = ("tree", "torus", "sphere", "disease", "karate", "les_miserables")


def row(name: str, folder: str) -> dict[str, Any]:
    statistics = graphs.describe(graphs.load_graph(name, root=folder, sparse=True, download=False))
    print(f"{name}: {statistics.curvature}", file=sys.stderr)
    return {
        "name": name,
        "nodes": statistics.nodes,
        "edges": statistics.edges,
        "largest": statistics.largest,
        "diameter": statistics.distances.diameter,
        "diameter_exact": statistics.distances.exact,
        "curvature": statistics.curvature.mean,
        "standard_error": statistics.curvature.standard_error,
        "delta": statistics.hyperbolicity.delta,
        "delta_exact": statistics.hyperbolicity.exact,
        "relative_delta": statistics.hyperbolicity.relative,
        "homophily": None if statistics.homophily != statistics.homophily else statistics.homophily,
        "advice": statistics.advice.signature,
        "reasons": list(statistics.advice.reasons),
    }


def main() -> None:
    if "KAPPAGCN_DATA" not in os.environ:
        sys.exit("expected KAPPAGCN_DATA to name a folder with the datasets, found it unset.")
    rows = [row(name, os.environ["KAPPAGCN_DATA"]) for name in [*BUILT_IN, *graphs.catalogue()]]
    record.save("curvature", {"seed": 0, "results": rows}, ("kappagcn", "numpy", "scipy", "torch"))


if __name__ == "__main__":
    main()
