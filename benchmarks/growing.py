"""Cost of a graph as it grows: conversion, mini-batches by processes that share the folder, the whole graph in memory.

python benchmarks/growing.py FOLDER --nodes 1000000 --edges 10000000

Above three million nodes the whole graph is left out. Rows with the same numbers of nodes and edges in
``records/growing.json`` are replaced. Steps whose files are in FOLDER are not repeated. Seconds of the processor are
those of one process, and so is the memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import record
from large_graph import write

RECORD = "growing"
SPACE, FEATURES, CLASSES, NEIGHBOURS, BATCH = "H16", 16, 10, (10, 10), 1024
STOPPING = 1000
EDGES_PER_NODE = 10
WHOLE = 3_000_000  # most nodes of a graph that is also trained on whole


def measured(command: list[str]) -> dict[str, float]:
    """Seconds of a command by the clock and of the processor, and the most memory that one process of it had."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=sys.stderr)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: exit status {status}")
    clock, processor = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return {"clock": clock, "processor": processor, "peak_bytes": usage.ru_maxrss * 1024}


def convert(folder: Path, nodes: int, edges: int) -> dict[str, Any]:
    """Generate a table of edges, and convert it."""
    if not (folder / "graph.parquet").exists():
        write(folder, nodes, edges, FEATURES, CLASSES)
    files = ["--features", str(folder / "features.npy"), "--labels", str(folder / "labels.npy")]
    command = ["-m", "kappagcn", "data", "convert", str(folder / "graph.parquet"), *files]
    result = measured([sys.executable, *command, "--out", str(folder / "graph")])
    size = sum(file.stat().st_size for file in (folder / "graph").iterdir())
    return {**result, "disk_bytes": size}


def train(folder: Path, seeds: int, processes: int) -> dict[str, Any]:
    """An epoch of mini-batches, by processes of torchrun."""
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    arguments = [str(folder), "--seeds", str(seeds), "--worker"]
    subprocess.run([sys.executable, *start, __file__, *arguments], check=True, stdout=sys.stderr)
    ranks = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(processes)]
    return {
        "processes": processes,
        "seeds": ranks[0]["seeds"],
        **{name: max(each[name] for each in ranks) for name in ("epoch", "processor", "peak_bytes", "private_bytes")},
        "stopping_accuracy": ranks[0]["stopping_accuracy"],
    }


def worker(folder: Path, seeds: int) -> None:
    """What a process of `train` does."""
    import torch

    from kappagcn.distributed import process_group

    torch.set_num_threads(1)
    if not seeds:
        (folder / "whole.json").write_text(json.dumps(whole_epoch(folder) | used_memory()))
        return
    with process_group() as communicator:
        result = epoch(folder, seeds, communicator) | used_memory()
    (folder / f"rank-{communicator.rank}.json").write_text(json.dumps(result))


def used_memory() -> dict[str, int]:
    """The most memory that this process had, and what it has without files that are mapped."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return {
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "private_bytes": int(status["RssAnon"].split()[0]) * 1024,
    }


def whole_epoch(folder: Path) -> dict[str, Any]:
    """Seconds of an epoch on the whole graph in memory, the least of four."""
    import torch

    from kappagcn.classification.network import build_network
    from kappagcn.classification.settings import ClassificationSettings
    from kappagcn.classification.task import NodeClassification
    from kappagcn.graphs import read_graph
    from kappagcn.training.settings import TrainingSettings
    from kappagcn.training.trainer import Trainer, seeded

    data = read_graph(folder / "graph")
    data.x = data.x.float()
    settings = ClassificationSettings(SPACE, feature_norm="none", dropout=0.0, self_features="off")
    split = chosen_split(data.num_nodes, data.num_nodes // 2)
    with seeded(0):
        model = build_network(settings, FEATURES, CLASSES)
    trainer = Trainer(model, NodeClassification(model, data, split), TrainingSettings(epochs=4, l2=0.0))
    seconds = []
    for _ in range(4):
        start = time.process_time()
        trainer.run_epoch()
        seconds.append(time.process_time() - start)
    return {"processor": min(seconds), "threads": torch.get_num_threads()}


def chosen_split(nodes: int, seeds: int) -> Any:
    """So many training nodes drawn at random, and a thousand to stop by."""
    import numpy as np

    from kappagcn.graphs import Split

    chosen = np.random.default_rng(0).permutation(nodes)[: seeds + STOPPING]
    return Split(chosen[STOPPING:], chosen[:STOPPING], [], [])


def epoch(folder: Path, seeds: int, communicator: Any) -> dict[str, Any]:
    """Seconds of an epoch of this process's share of the training nodes."""
    from kappagcn.classification.large import folder_data
    from kappagcn.classification.minibatch import MiniBatch
    from kappagcn.classification.network import build_network
    from kappagcn.classification.settings import ClassificationSettings
    from kappagcn.graphs import MappedGraph
    from kappagcn.training.settings import TrainingSettings
    from kappagcn.training.trainer import seeded

    graph = MappedGraph(folder / "graph", check=False)
    settings = ClassificationSettings(SPACE, feature_norm="none", dropout=0.0, self_features="off")
    split = chosen_split(graph.num_nodes, seeds)
    with seeded(0):
        model = build_network(settings, FEATURES, CLASSES)
    strategy = MiniBatch(BATCH, NEIGHBOURS, group=communicator)
    trainer = strategy.trainer(model, folder_data(graph, settings, None), split, TrainingSettings(epochs=1, l2=0.0))
    start, processor = time.perf_counter(), time.process_time()
    metrics = trainer.run_epoch()
    seconds = {"epoch": time.perf_counter() - start, "processor": time.process_time() - processor}
    return {**seconds, "seeds": len(split.train), "stopping_accuracy": metrics["stopping_accuracy"]}


def main(folder: Path, nodes: int, edges: int, seeds: int, processes: int) -> None:
    path = folder / "convert.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(convert(folder, nodes, edges)))
    size = {"nodes": nodes, "edges": edges}
    rows = [
        {"case": "convert", **size, **json.loads(path.read_text())},
        {"case": "batches", **size, **train(folder, min(seeds, nodes // 2), processes)},
    ]
    if nodes <= WHOLE:
        command = [sys.executable, __file__, str(folder), "--seeds", "0", "--worker"]
        subprocess.run(command, check=True, stdout=sys.stderr)
        rows.append({"case": "whole", **size, **json.loads((folder / "whole.json").read_text())})
    known = record.load(RECORD)["results"] if (record.RECORDS / f"{RECORD}.json").exists() else []
    others = [row for row in known if (row["nodes"], row["edges"]) != (nodes, edges)]
    results = sorted([*others, *rows], key=lambda row: (row["case"], row["nodes"]))
    settings = {"space": SPACE, "features": FEATURES, "neighbours": NEIGHBOURS, "batch_size": BATCH}
    record.save(RECORD, {**settings, "results": results}, ("torch", "numpy", "duckdb", "kappagcn"))
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="Folder for the graph; 2·10⁸ edges take 7 GB.")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, help="Ten for each node by default.")
    parser.add_argument("--seeds", type=int, default=1_000_000, help="Training nodes; at most half of the nodes.")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--worker", action="store_true", help="What each process of the training does.")
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments.folder, arguments.seeds)
    else:
        edges = arguments.edges or EDGES_PER_NODE * arguments.nodes
        main(arguments.folder, arguments.nodes, edges, arguments.seeds, arguments.processes)
