"""Mini-batches beside whole graphs: accuracy on Pubmed with the same settings, and memory as the graph grows.

    KAPPAGCN_DATA=... python benchmarks/minibatch.py    measures, keeps records/minibatch.json

Accuracy: H16 with the settings of its configuration, on the first splits that are reported, the same starting weights
for both; batches of 20 of the 60 training nodes, at most 10 neighbours of each node at each hop. Memory: random graphs,
10 edges a node, 64 features, 2000 training and 500 stopping nodes whatever the size; the peak of the resident set of a
process that does nothing else, beyond what it is with the graph, its features and the sampler loaded.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from typing import Any

import torch
from torch_geometric.data import Data

import record
from kappagcn.classification.evaluation import final_evaluation
from kappagcn.classification.fitting import fit
from kappagcn.classification.minibatch import MiniBatch, MiniBatches
from kappagcn.classification.network import build_network
from kappagcn.classification.task import NodeClassification
from kappagcn.errors import PrecisionWarning
from kappagcn.graphs import Split
from kappagcn.graphs.datasets.graph_dataset import load_benchmark
from kappagcn.models import KappaGCN
from kappagcn.paper.classification import load_settings
from kappagcn.training.estimate import bootstrapped
from kappagcn.training.minibatch import MiniBatchTrainer
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer, seeded
from layers import forget_peak, peak_gib, random_graph

CELL = "pubmed/H16"
BATCH, NEIGHBOURS = 20, (10, 10)
GROWING = (100_000, 1_000_000)
LARGE_BATCH, TRAIN, STOPPING = 512, 2000, 500
PACKAGES = ("torch", "torch_geometric", "numba", "kappagcn")


def accuracy(root: str, split_number: int, run: int) -> dict[str, Any]:
    """Test accuracy of both ways from the same weights."""
    experiment, benchmark = load_settings()["pubmed/H16"], load_benchmark("pubmed", root)
    split, seed = benchmark.numbered_split(split_number), 1000 * split_number + run
    data, config = experiment.prepare(benchmark[0]), experiment.settings.training(random_state=seed)
    row: dict[str, Any] = {"case": "accuracy", "split": split_number, "run": run}
    batches: dict[str, Any] = {"strategy": MiniBatch(batch_size=BATCH, num_neighbors=NEIGHBOURS)}
    for name, options in (("whole", {}), ("batches", batches)):
        with seeded(seed):
            model = build_network(experiment.settings, data.num_features, benchmark.num_classes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            result = fit(model, data, split, config, **options)
        row[name] = {
            "accuracy": final_evaluation(model, data, split)["accuracy"],
            "epochs": result.epochs,
            "best_epoch": result.best_epoch,
            "epoch_milliseconds": round(1000 * result.seconds / result.epochs, 2),
        }
    return row


def memory(nodes: int, way: str) -> None:
    """In a process of its own: GiB with everything loaded, GiB that training adds, seconds of an epoch."""
    x, edge_index, y = random_graph(nodes, 10 * nodes)
    order = torch.randperm(nodes, generator=torch.Generator().manual_seed(1))
    split = Split(order[:TRAIN], order[TRAIN : TRAIN + STOPPING], [], order[-1000:])
    data, model = Data(x=0.1 * x, edge_index=edge_index, y=y), KappaGCN(64, 7, "H16(-0.1)", dropout=0.5)
    trainer: Trainer
    if way == "batches":
        task = MiniBatches(model, data, split, batch_size=LARGE_BATCH, num_neighbors=NEIGHBOURS)
        trainer = MiniBatchTrainer(model, task, TrainingSettings())
    else:
        trainer = Trainer(model, NodeClassification(model, data, split), TrainingSettings())
    del x, edge_index
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # else what building the graph left free would hide what training takes
    forget_peak()
    before, times = peak_gib(), []
    for _ in range(4):
        start = time.perf_counter()
        trainer.run_epoch()
        times.append(time.perf_counter() - start)
    print(json.dumps({"loaded_gib": before, "training_gib": peak_gib() - before, "epoch_seconds": min(times)}))


def alone(nodes: int, way: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--memory", str(nodes), "--way", way]
    result: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return result


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means with intervals of both ways, and whether the batches' mean lies within the whole graph's interval."""
    means = {name: bootstrapped([row[name]["accuracy"] for row in rows]) for name in ("whole", "batches")}
    whole = means["whole"]
    inside = whole.interval is not None and abs(means["batches"].mean - whole.mean) <= whole.interval
    result: dict[str, Any] = {name: {"mean": e.mean, "interval": e.interval} for name, e in means.items()}
    return {"case": "summary", "runs": len(rows), **result, "batches_within_whole": inside}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    root = os.environ.get("KAPPAGCN_DATA")
    if not root:
        raise SystemExit("expected KAPPAGCN_DATA to name the folder with pubmed.npz, found it unset")
    results: list[dict[str, Any]] = []
    for nodes in GROWING:
        for way in ("batches", "whole"):
            results.append({"case": "memory", "nodes": nodes, "edges": 10 * nodes, "way": way, **alone(nodes, way)})
            print(results[-1], file=sys.stderr, flush=True)
    rows = []
    for split in range(options.splits):
        for run in range(options.runs):
            rows.append(accuracy(root, split, run))
            print(rows[-1], file=sys.stderr, flush=True)
    about = {"batch_size": BATCH, "neighbours": NEIGHBOURS, "threads": options.threads}
    return {**about, "large_batch_size": LARGE_BATCH, "results": [summary(rows), *rows, *results]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory:
        memory(options.memory, options.way)
    else:
        record.save("minibatch", measure(options), PACKAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
