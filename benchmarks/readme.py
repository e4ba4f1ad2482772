"""The README's tables, from the records.

python benchmarks/readme.py
"""

from __future__ import annotations

import re
import sys

import accuracy
import distortion
import embeddings
import geometry
import node_classification
import record

README = record.DOCS.parent / "README.md"
SHOWN = ["dist", "expmap", "logmap", "logmap0", "midpoint", "dist2plane"]


def accuracy_rows() -> list[str]:
    results = record.load("accuracy")["results"]
    rows = []
    for case in SHOWN:
        mine = [r for r in results if r["case"] == case and r["dtype"] == "float32"]
        cells = [accuracy.worst(mine, s, w) for s in ("kappagcn", "geoopt") for w in ("value", "slope")]
        rows.append(f"| `{case}` | " + " | ".join(f"{c:.1e}" for c in cells) + " |")
    return rows


def speed_rows() -> list[str]:
    ratios = {(r["case"], r["kappa"]): r["ratio"] for r in record.load("geometry")["results"]}
    return [f"| `{c}` | {size} | {ratios[c, -1.0]:.1f} | {ratios[c, 1.0]:.1f} |" for c, size in geometry.SIZES.items()]


def paths_rows() -> list[str]:
    rows = []
    for r in record.load("graphs")["results"]:
        if "sources" in r:
            ratio = min(r["seconds"]["scipy"], r["seconds"]["networkx"]) / r["seconds"]["kappagcn"]
            rows.append(f"| {r['case'].split(',')[0]} | {r['nodes']:,} | {r['sources']:,} | {ratio:.1f} |")
    return rows


def layers_rows() -> list[str]:
    rows = []
    for r in record.load("layers")["results"]:
        if "seconds" in r:
            ours, flat, pyg = (r["seconds"].get(name) for name in ("κ = −1", "own GCN", "PyG GCN"))
            of_pyg = "" if pyg is None else f"{ours / pyg:.2f}"
            rows.append(f"| {r['case']} | {r['nodes']:,} | {of_pyg} | {ours / flat:.1f} |")
    return rows


def epoch_rows() -> list[str]:
    rows = record.load("distortion")["results"]
    found = {(r["space"], r["spread"], r["who"]): r for r in rows}
    lines = []
    for space, spread in dict.fromkeys((r["space"], r["spread"]) for r in rows):
        ours, theirs = (found[space, spread, who] for who in ("compiled", "geoopt"))
        sizes = [distortion.mebibytes(each["memory"]) for each in (ours, theirs)]
        lines.append(f"| {space}, points {spread:g} wide | {ours['ratio']:.0f} | {sizes[0]} | {sizes[1]} |")
    return lines


def refreshed(text: str) -> str:
    """The text with the rows between its markers made anew."""
    tables = {
        "accuracy": accuracy_rows(),
        "speed": speed_rows(),
        "paths": paths_rows(),
        "layers": layers_rows(),
        "nodes": node_classification.table2_rows(),
        "distortion": embeddings.table1_rows(),
        "epoch": epoch_rows(),
    }
    for marker, rows in tables.items():
        pattern = rf"(<!-- {marker} -->\n\n(?:\|.*\n){{2}})(?:\|.*\n)*"
        text, count = re.subn(pattern, lambda m, rows=rows: m[1] + "\n".join(rows) + "\n", text)
        if count != 1:
            raise SystemExit(f"expected one marker {marker} before a table in README.md, found {count}")
    return text


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text()))
    sys.exit()
