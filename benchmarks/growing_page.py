"""The page about larger graphs, from the records of growing.py and minibatch.py.

python benchmarks/growing_page.py
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

import parts_section
import record

PAGE = record.DOCS / "growing.md"
FEATURES, CLASSES = 64, 10
FAR = {"nodes": 10**8, "edges": 16 * 10**8, "machines": (8, 32, 128), "network": 1.25e9}  # bytes a second


SMALL = 9600  # bytes an epoch
WAYS = {"batches": "mini-batches", "whole": "full batch"}


def columns(dim: int, factors: int, classes: int) -> int:
    """Sent for each boundary row in a pass of one hidden layer and the output: lifts, then scores."""
    return dim + factors + classes


def bytes_per_epoch(
    boundary_rows: int, width: int, parameters: int, workers: int, size: int, *, dropout: bool
) -> float:
    """Of all workers: rows forward, gradients back, with dropout rows once more for metrics; the sum of gradients."""
    return size * ((3 if dropout else 2) * boundary_rows * width + 2 * (workers - 1) * parameters)


def small_sums(workers: int) -> float:
    """Losses, accuracies and whether to stop are a few numbers, but messages: their bytes, found with two workers."""
    return SMALL * workers * math.log2(workers)


def memory_model(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Bytes a node and bytes an edge, from the growth of the peak between local graphs: least squares, relative."""
    local = [r for r in rows if r["kind"] == "local"]
    peaks = np.array([r["peak_bytes"] for r in local], float)
    design = np.array([[1, r["nodes"], r["edges"]] for r in local]) / peaks[:, None]
    (_, by_node, by_edge), *_ = np.linalg.lstsq(design, np.ones_like(peaks), rcond=None)
    return float(by_node), float(by_edge)


def gib(count: float) -> str:
    return f"{count / 2**30:,.1f} GiB" if count >= 2**29 else f"{count / 2**20:,.1f} MiB"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def large_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            r["kind"],
            f"{r['nodes']:,}",
            f"{r['edges']:,}",
            f"{r['seconds']:.2f} s",
            f"{1e9 * r['seconds'] / r['edges']:.0f} ns",
            gib(r["peak_bytes"]),
            f"{r['peak_bytes'] / r['edges']:,.0f}",
        ]
        for r in rows
    ]


def exact_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            r["space"],
            str(r["workers"]),
            r["dtype"],
            *(f"{r[name]:.0e}" for name in ("gradients", "loss", "curvatures", "weights")),
            f"{r['seconds']:.3f} s",
        ]
        for r in rows
    ]


def modelled(row: dict[str, Any]) -> float:
    """Bytes of an epoch, small sums included."""
    return float(row["bytes_model"]) + small_sums(row["workers"])


def sent_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            r["space"],
            str(r["workers"]),
            r["dtype"],
            f"{r['boundary_rows']:,}",
            f"{modelled(r) / 2**10:,.0f} KiB",
            f"{r['bytes_measured'] / 2**10:,.0f} KiB",
            f"{r['bytes_measured'] / modelled(r) - 1:+.1%}".replace("-", "−"),
        ]
        for r in rows
        if r["workers"] > 1
    ]


def far_rows(rows: list[dict[str, Any]], shares: list[dict[str, Any]]) -> list[list[str]]:
    by_node, by_edge = memory_model(rows)
    width, parameters = columns(16, 1, CLASSES), FEATURES * 16 + 16 + 2 * 16 * CLASSES + 1
    lines = []
    for machines in FAR["machines"]:
        held = (by_node * FAR["nodes"] + by_edge * FAR["edges"]) / machines
        for method, words in (("metis", "cut as METIS cuts Pubmed"), ("hash", "assigned by number")):
            share = next(r["share"] for r in shares if (r["parts"], r["method"]) == (machines, method))
            if method == "hash":  # each of 2E/N neighbours is on a given machine with probability 1/W
                degree = 2 * FAR["edges"] / FAR["nodes"]
                share = (machines - 1) * (1 - (1 - 1 / machines) ** degree)
            boundary = share * FAR["nodes"]
            sent = bytes_per_epoch(int(boundary), width, parameters, machines, 4, dropout=True)
            extra = boundary / machines * width * 4 * 2
            lines.append(
                [str(machines), words, gib(held + extra), gib(sent), f"{sent / machines / FAR['network']:,.1f} s"]
            )
    return lines


def batch_rows() -> tuple[list[list[str]], dict[str, Any]]:
    rows = record.load("minibatch")["results"]
    memory = [
        [
            f"{r['nodes']:,}",
            {"batches": "mini-batches", "whole": "full batch"}[r["way"]],
            gib(2**30 * r["training_gib"]),
        ]
        for r in rows
        if r["case"] == "memory"
    ]
    return memory, next(r for r in rows if r["case"] == "summary")


def page(saved: dict[str, Any]) -> str:
    """docs/growing.md."""
    rows = {case: [r for r in saved["results"] if r["case"] == case] for case in ("large", "exact", "boundary")}
    by_node, by_edge = memory_model(rows["large"])
    memory, accuracy = batch_rows()
    first, last = (next(r for r in rows["large"] if (r["kind"], r["edges"]) == ("local", e)) for e in (10**6, 10**7))
    percent = {way: f"{accuracy[way]['mean']:.1%} ± {accuracy[way]['interval']:.1%}" for way in ("whole", "batches")}
    epochs = table(
        ["graph", "nodes", "edges", "an epoch", "per edge", "peak memory", "bytes per edge"], large_rows(rows["large"])
    )
    start, slope, worst = parts_section.line(
        [r for r in rows["large"] if r["kind"] == "local" and r["edges"] == 10 * r["nodes"]], "seconds"
    )
    batches = table(["nodes", "", "memory"], memory)
    numbers = ["gradients", "loss", "curvatures", "weights at the end", "an epoch"]
    agreement = table(["space", "workers", "precision", *numbers], exact_rows(rows["exact"]))
    compared = ["boundary rows", "model", "measured", "difference"]
    sent = table(["space", "workers", "precision", *compared], sent_rows(rows["exact"]))
    wanted = ["machines", "nodes", "memory of each", "sent in an epoch", "time of sending"]
    projection = table(wanted, far_rows(rows["large"], rows["boundary"]))
    spaces = ", ".join(saved.get("spaces", {}).values())
    slight = (
        f"\nSpaces start slightly curved, {spaces}: rows that lie far out would be sent in float64." if spaces else ""
    )
    modes = table(
        ["the graph", "how", "command"],
        [
            ["up to some millions of edges", "the whole graph at each step", "`kappagcn classify`"],
            ["fits, training on all of it does not", "mini-batches", "`kappagcn classify --set batch-size=512`"],
            ["fits, training takes too long or too much", "parts on several workers", "`torchrun`, `--distributed`"],
            ["does not fit", "parts as files", "`kappagcn data partition`, `kappagcn classify DIR`"],
            ["to embed, more than 5000 nodes", "sampled pairs", "`kappagcn embed`, also `--distributed`"],
        ],
    )
    return f"""# Larger graphs

{modes}

## The whole graph

Training the two-layer κ-GCN (H16, {FEATURES} features, {CLASSES} classes) takes about {by_node:,.0f} bytes a node and
{by_edge:,.0f} bytes an edge at its peak, the graph itself among them. From 100,000 nodes to a million, an epoch takes
{last["seconds"] / first["seconds"]:.1f} times as long on a local graph, whose edges join nodes with close numbers as
a partition orders them, except for a tenth. Random edges are slower: their nodes are far apart in memory.

{epochs}

A straight line through the epochs of local graphs with ten edges a node (least squares of relative errors):
{1e3 * start:.0f} ms and {1e9 * slope:.0f} ns an edge, at worst {worst:.0%} off. In memory, 10 million nodes with 100
million edges would take {gib(1e7 * by_node + 1e8 * by_edge)}; growth up to {parts_section.reach():,} nodes is measured
on [parts](#parts-as-files).

The command line keeps memory that a step frees for the next one (`kappagcn.training.keep_freed_memory`, glibc only):
given back to the system and zeroed again, it would cost as much as the mathematics.

## Mini-batches

```python
from kappagcn import KappaGCNClassifier
from kappagcn.graphs import disease

classifier = KappaGCNClassifier("H8", epochs=20, batch_size=100, num_neighbors=(10, 10), verbose=False).fit(disease())
print(classifier.predict().shape)
# → (1000,)
```

For each node of a batch at most so many neighbours are drawn, and neighbours of those, one hop for each product with
the graph that the network makes. The weights of the drawn ones grow by the number there are over the number drawn, so
the sum of lifts [N | D] that a midpoint comes from is right on average (a statistical test holds it to that; the
midpoint itself, which is no linear function of the sum, is not exactly). Evaluation and prediction take all
neighbours, layer by layer (`kappagcn.training.layer_by_layer`), also for nodes that were not there in training. The
sampler works in PyG's `NodeLoader` too: `kappagcn.sparse.NeighbourSampler`.

What training adds to the memory of the loaded graph, batches of 512:

{batches}

Test accuracy on Pubmed, H16, five splits with two runs each: full batch {percent["whole"]}, mini-batches
{percent["batches"]}. On a graph of that size batches are no faster. Record:
[minibatch.json](../records/minibatch.json), by `python benchmarks/minibatch.py`.

## Several workers

```
torchrun --nproc-per-node 2 -m kappagcn classify pubmed --space H16 --distributed
```

METIS assigns the nodes to workers (`pip install pymetis`; by their numbers without it), and each worker holds its rows
of Â. At each layer a worker receives, once, the rows of other workers that its own rows need. The κ-midpoint needs of
a neighbour only its lift, so H16 sends 17 columns where a flat layer sends 16. Gradients go back the same way, and
those of the weights and curvatures are summed. The first worker alone prints and writes; checkpoints do not depend on
the number of workers, so any number can continue a run with `--resume`. A worker that dies or is silent for `timeout`
seconds ends the run with a line that names it. With `batch-size` workers share batches instead. In
`kappagcn.training.Partitioned`, `boundary=0.5` takes half of the other workers' rows at each step, drawn anew and
weighted to be right on average.

In Python work is shared only with the process group that is passed, by all processes of it. Without one, `fit` works
in its own process and does not communicate, also where torch.distributed is initialised for something else:

```
import torch.distributed as dist

dist.init_process_group("gloo")  # under torchrun; tensors on the CPU need gloo
KappaGCNClassifier("H16", batch_size=512).fit(data, group=dist.group.WORLD)
```

Each worker of this mode reads the whole graph before it keeps its part, and the first one evaluates the whole at the
end: the memory of training is shared, that of reading is not; with parts as files, below, both are. With dropout, or
sampled pairs, random numbers depend on the number of workers; without these any number continues a run exactly.

How far {saved["epochs"]} epochs on Pubmed (no dropout) are from one process, the largest relative difference;
gradients are those of the first step. In float64 workers agree with one process to the last digits. In float32 sums
in another order differ in the last digit, and training makes that grow, as it does between one thread and two.{slight}

{agreement}

Here all workers share two cores, so they are not faster; the table shows that the results agree.

## Bytes

With B boundary rows (rows needed by a worker that does not hold them, summed over workers), one hidden layer of D
dimensions in F factors, C classes and P weights, W workers send in an epoch

    4 · (p · B · (D + F + C) + 2 · (W − 1) · P) + {SMALL} · W · log₂ W bytes

in float32. Without dropout p = 2, as here: rows forward, which give the loss of a step and the metrics of the step
before it, and gradients back. With dropout p = 3, because metrics need a forward pass of their own. The rest is the
sum of the weights' gradients, and sums of single numbers (losses, accuracies, whether to stop), whose messages are
mostly headers: the {SMALL} bytes come from the runs with two workers, so the rows with four check them. Beside it,
what went over the network in fact:

{sent}

{parts_section.section(table)}
## A hundred million nodes on several machines

From these models, for {FAR["nodes"]:,} nodes, {FAR["edges"]:,} edges, {FEATURES} features, H16: memory of each
machine as of training in memory above, bytes of an epoch with dropout in all, and their time at 10 Gbit/s a machine.
A projection, not a measurement.

{projection}

{record.made_with(saved)} Record: [growing.json](../records/growing.json).
"""


if __name__ == "__main__":
    PAGE.write_text(page(record.load("growing")))
    sys.exit()
