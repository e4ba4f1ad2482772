"""How curved the built-in graphs and the datasets are: what `kappagcn info` finds for each.

    python benchmarks/curvature.py           describes all, keeps benchmarks/results/curvature.json, writes
                                             docs/graph-curvature.md
    python benchmarks/curvature.py --docs    docs/graph-curvature.md from the record, without computing

KAPPAGCN_DATA must name a folder with the datasets.
"""

from __future__ import annotations

import argparse
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


def page(saved: dict[str, Any]) -> str:
    """docs/graph-curvature.md."""
    lines = [
        "| graph | nodes | edges | diameter | curvature | δ | δ/diameter | edges within a class | try first |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in saved["results"]:
        error = f" ± {r['standard_error']:.1g}" if r["standard_error"] else ""
        homophily = "–" if r["homophily"] is None else f"{r['homophily']:.0%}"
        lines.append(
            f"| {r['name']} | {r['nodes']:,} | {r['edges']:,} | {'' if r['diameter_exact'] else '≥ '}{r['diameter']} | "
            f"{r['curvature']:+.3f}{error} | {'' if r['delta_exact'] else '≥ '}{r['delta']:g} | "
            f"{r['relative_delta']:.2f} | {homophily} | {r['advice']} |"
        )
    table = "\n".join(lines)
    return f"""# How curved graphs are

Curvature is the deviation from the parallelogram law (Algorithm 1 of the paper, corrected; see [the guide](graphs.md)),
averaged over all nodes with two neighbours or more: exact up to 20,000 nodes, from 64 sampled nodes beyond. δ is
Gromov's: where it says ≥, the largest of 200,000 sampled quadruples. All of the largest component. The last column is a
rule of thumb with reasons (`kappagcn info NAME` gives them), not a result.

{record.made_with(saved)}

{table}
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", action="store_true")
    if not parser.parse_args().docs:
        if "KAPPAGCN_DATA" not in os.environ:
            sys.exit("expected KAPPAGCN_DATA to name a folder with the datasets, found it unset.")
        names = [*BUILT_IN, *graphs.catalogue()]
        rows = [row(name, os.environ["KAPPAGCN_DATA"]) for name in names]
        record.save("curvature", {"seed": 0, "results": rows}, ("kappagcn", "numpy", "scipy", "torch"))
    text = page(record.load("curvature"))
    (record.DOCS / "graph-curvature.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
