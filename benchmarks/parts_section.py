"""The part of docs/growing.md about graphs in parts, from the record of parts.py."""

from __future__ import annotations

from typing import Any

import numpy as np

import record

FAR_NODES, FAR_EDGES = 10**8, 10**9
LARGE = 10**7  # nodes from which graphs count for the projection


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
            row |= {"system_share": train["system"] / train["processor"]} if "system" in train else {}
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
            f"{1e6 * r['epoch_seconds'] / r['edges']:.2f} µs" if "train_peak" in r else "not run",
            gib(r["train_peak"]) if "train_peak" in r else "not run",
            f"{r['train_peak'] / r['edges']:,.0f}" if "train_peak" in r else "not run",
        ]
        for r in rows
    ]
    head = ["nodes", "edges", "cutting", "memory", "edges between parts", "files", "an epoch", "per edge"]
    head += ["memory of the worker", "bytes per edge"]
    fits = {
        "cutting, processor": (rows, "cut_seconds", 1e6, "µs"),
        "cutting, memory": (rows, "cut_peak", 1, "bytes"),
        "files": (rows, "disk_bytes", 1, "bytes"),
        "an epoch, processor": (trained, "epoch_seconds", 1e6, "µs"),
        "training, memory of the worker": (trained, "train_peak", 1, "bytes"),
    }
    lines, far = [], []
    for name, (some, of, unit, word) in fits.items():
        start, slope, worst = line(some, of)
        at_zero = f"{start:.1f} s" if unit > 1 else gib(start)
        lines.append([name, at_zero, f"{unit * slope:.2f} {word}", f"{worst:.0%}", f"{some[-1]['nodes']:,}"])
        start, slope, _ = line([r for r in some if r["nodes"] >= LARGE], of)
        value = start + slope * FAR_EDGES
        far.append([name, f"{unit * slope:.2f} {word}", f"{value / 3600:.1f} h" if unit > 1 else gib(value)])
    shares = [r["system_share"] for r in trained if "system_share" in r and r["nodes"] >= LARGE]
    clearing = f", {min(shares):.0%} to {max(shares):.0%} of the processor's time" if shares else ""
    notes = "".join(f"\n¹ {r['note']}\n" for r in rows if "note" in r)
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

These are lines only in part. Memory of cutting grows with the edges until the buffer of the sort (1 GiB) is full, at
some 17 million edges, and with the nodes from there on. Memory of training on small parts is mostly blocks that were
freed and that the C library keeps for later. Blocks above 32 MiB it returns to the system, which clears them for the
next use. From {LARGE:,} nodes on the system's work{clearing}, makes an edge cost more.

So the projection to {FAR_NODES:,} nodes and {FAR_EDGES:,} edges of the same kind uses the graphs with {LARGE:,} nodes
and more alone; one process, {saved["parts"]} parts. More parts need less memory each.

{table(["quantity", "per edge", "projected"], far)}

{record.made_with(saved)} Record: [parts.json](../records/parts.json).
"""
