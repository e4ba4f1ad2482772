"""The README's tables, from the records.

python benchmarks/readme.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

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


def span(values: list[float]) -> str:
    """From the least to the most, with two digits."""
    words = list(dict.fromkeys(f"{v:.0f}" if v >= 10 else f"{v:.1f}" for v in sorted(values)))
    return words[0] if len(words) == 1 else f"{words[0]} to {words[-1]}"


def speed_rows() -> list[str]:
    """Rows of operation, rival and speed-up."""
    rows = [*geometry_rows(), *epoch_rows(), *layers_rows(), *paths_rows()]
    return [f"| {what} | {rival} | {ratio} |" for what, rival, ratio in rows]


def geometry_rows() -> list[tuple[str, str, str]]:
    ratios: dict[str, list[float]] = {}
    for r in record.load("geometry")["results"]:
        ratios.setdefault(r["case"], []).append(r["ratio"])
    return [(f"`{case}`, {size}", "geoopt", span(ratios[case])) for case, size in geometry.SIZES.items()]


def epoch_rows() -> list[tuple[str, str, str]]:
    rows = record.load("distortion")["results"]
    ours, theirs = ([r for r in rows if r["who"] == method] for method in ("compiled", "geoopt"))
    used = [distortion.mebibytes(max(r["memory"] for r in each)) for each in (ours, theirs)]
    what = f"an epoch of embedding the tree, all pairs ({used[0]} against {used[1]})"
    return [(what, "geoopt", span([r["ratio"] for r in ours]))]


def layers_rows() -> list[tuple[str, str, str]]:
    steps = [r for r in record.load("layers")["results"] if "PyG GCN" in r.get("seconds", {})]
    return [
        (
            f"a training step of κ-GCN, {r['case']}",
            "PyG's GCN, dense features",
            span([r["seconds"]["PyG GCN"] / r["seconds"][k] for k in ("κ = −1", "κ = +1")]),
        )
        for r in steps
    ]


def paths_rows() -> list[tuple[str, str, str]]:
    saved = [r for r in record.load("graphs")["results"] if "sources" in r]
    ratios = [min(r["seconds"]["scipy"], r["seconds"]["networkx"]) / r["seconds"]["kappagcn"] for r in saved]
    names = ", ".join(r["case"].split(",")[0] for r in saved)
    return [(f"shortest paths: {names}", "the better of SciPy and NetworkX", span(ratios))]


NUMBER = r"\d+\.\d+(?: ± \d+\.\d+)?(?: \(\d+ runs\))?"
ABSENT = "–"


def in_columns(rows: list[str], *, best: Callable[..., float]) -> list[str]:
    """Rows whose cells hold several values, the paper's last, with a column for each, and its best in bold.

    Rows that the paper does not have, or that were not run, have a dash in place of each value that is absent.
    """
    names = [row.split("|")[1].strip() for row in rows]
    cells = [[re.findall(NUMBER, cell) for cell in row.split("|")[2:-1]] for row in rows]
    width = max(len(values) for line in cells for values in line)
    table = [[value for values in line for value in [*values, *[ABSENT] * (width - len(values))]] for line in cells]
    for column in range(len(table[0])):
        target = best(float(line[column].split()[0]) for line in table if line[column] != ABSENT)
        for line in table:
            if line[column] != ABSENT and float(line[column].split()[0]) == target:
                line[column] = f"**{line[column]}**"
    return [f"| {name} | {' | '.join(line)} |" for name, line in zip(names, table, strict=True)]


def refreshed(text: str) -> str:
    """The text with the rows between its markers made anew."""
    tables = {
        "accuracy": accuracy_rows(),
        "speed": speed_rows(),
        "nodes": in_columns(node_classification.table2_rows(), best=max),
        "distortion": in_columns(embeddings.table1_rows(), best=min),
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
