"""The part of docs/growing.md about graphs in parts, from the record of parts.py."""

from __future__ import annotations

from typing import Any

import numpy as np

import record

FAR_NODES, FAR_EDGES = 10**8, 10**9
LEAST = 10**7  # nodes up to which a quantity has to be measured before its line is drawn on
BEND = 0.15  # worst error above which it is no line


def line(rows: list[dict[str, Any]], of: str) -> tuple[float, float, float]:
    """The straight line through a quantity by edges, by relative errors: value at 0, slope, worst error."""
    edges = np.array([r["edges"] for r in rows], float)
    values = np.array([r[of] for r in rows], float)
    design = np.stack([np.ones_like(edges), edges], 1) / values[:, None]
    (start, slope), *_ = np.linalg.lstsq(design, np.ones_like(values), rcond=None)
    return float(start), float(slope), float(np.abs((start + slope * edges) / values - 1).max())


def reach() -> int:
    """Nodes of the largest graph that was measured."""
    return max(r["nodes"] for r in record.load("parts")["results"])


def gib(count: float) -> str:
    return f"{count / 2**30:,.2f} GiB"


def joined(result: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each graph: cutting, and training where it was run."""
    cuts = [r for r in result["results"] if r["case"] == "cut"]
    trained = {(r["nodes"], r["drawn_edges"]): r for r in result["results"] if r["case"] == "train"}
    rows = []
    for cut in cuts:
        train = trained.get((cut["nodes"], cut["drawn_edges"]))
        row = {"nodes": cut["nodes"], "edges": cut["edges"], "cut_seconds": cut["processor"], **cut}
        row |= {"cut_peak": cut["peak_bytes"]}
        if train is not None:
            row |= {"epoch_seconds": train["epoch_processor"], "train_peak": train["worker_peak_bytes"]}
        rows.append(row)
    return rows


def section(table: Any) -> str:
    """The section."""
    saved = record.load("parts")
    rows = joined(saved)
    trained = [r for r in rows if "train_peak" in r]
    cells = [
        [
            f"{r['nodes']:,}" + (" ¹" if "note" in r else ""),
            f"{r['edges']:,}",
            f"{r['cut_seconds']:.1f} s",
            gib(r["cut_peak"]),
            f"{r['cut_share']:.0%}",
            gib(r["disk_bytes"]),
            f"{r['epoch_seconds']:.1f} s" if "train_peak" in r else "not run",
            gib(r["train_peak"]) if "train_peak" in r else "not run",
        ]
        for r in rows
    ]
    head = ["nodes", "edges", "cutting", "memory", "edges between parts", "files", "an epoch", "memory of the worker"]
    fits = {
        "cutting, processor": (rows, "cut_seconds", 1e6, "µs"),
        "cutting, memory": (rows, "cut_peak", 1, "bytes"),
        "files": (rows, "disk_bytes", 1, "bytes"),
        "an epoch, processor": (trained, "epoch_seconds", 1e6, "µs"),
        "training, memory of the worker": (trained, "train_peak", 1, "bytes"),
    }
    lines, far, short = [], [], []
    for name, (some, of, unit, word) in fits.items():
        start, slope, worst = line(some, of)
        at_zero = f"{start:.1f} s" if unit > 1 else gib(start)
        lines.append([name, at_zero, f"{unit * slope:.2f} {word}", f"{worst:.0%}", f"{some[-1]['nodes']:,}"])
        if some[-1]["nodes"] < LEAST or worst > BEND:
            short.append(name)
            continue
        value = start + slope * FAR_EDGES
        far.append([name, f"{value / 3600:.1f} h" if unit > 1 else gib(value)])
    notes = "".join(f"\n¹ {r['note']}\n" for r in rows if "note" in r)
    missing = f"\nNot projected, as measured on smaller graphs alone or no line: {'; '.join(short)}.\n" if short else ""
    return f"""## Parts as files

`kappagcn data partition` streams a graph of any size into parts, and a worker opens only its own
([how to](how-to/partition.md)). Measured on local graphs as above with {saved["features"]} features in half precision
and {saved["classes"]} classes, in {saved["parts"]} parts, κ-GCN {saved["space"]}; one process and one thread take the
parts in turn, so that one part at a time is in memory; files of the parts and of the rows on their way are beside it
on the disk. Training is exact. Seconds are those of the processor; memory is the most that the process had,
0.5 GiB of it the imported packages.

{table(head, cells)}
{notes}
Straight lines through these, by edges of the whole graph (least squares of relative errors):

{table(["quantity", "at 0 edges", "per edge", "worst error", "up to nodes"], lines)}

An epoch of parts in turn computes some products again: 12 for a training step and 3 for the metrics of early stopping,
where workers with one part each need 4 and 2. Memory of cutting is no line: the buffer of the sort (1 GiB) is full from
some 17 million edges on, and from there it grows with the nodes. Memory of training on small parts is mostly blocks
that were freed and that the C library keeps; large blocks it returns to the system, so this line is too steep for large
graphs.

The lines at {FAR_NODES:,} nodes and {FAR_EDGES:,} edges of the same kind, a projection: one process, {saved["parts"]}
parts.

{table(["quantity", "projected"], far)}
{missing}
{record.made_with(saved)} Record: [parts.json](../benchmarks/results/parts.json).
"""
