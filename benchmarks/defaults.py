"""Which defaults the classifier has, by accuracy on validation nodes: output layers, networks, own features apart.

python benchmarks/defaults.py [--data FOLDER] [--splits 2] [DATASET ...]

Appends a line for each run to results/defaults.jsonl and does none twice; test nodes are never looked at. Where a
dataset is published with its splits, its validation nodes are those that stop training.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from pathlib import Path
from typing import Any

import torch

from kappagcn.estimators import KappaGCNClassifier
from kappagcn.estimators.labelled import read_labels
from kappagcn.graphs.datasets.benchmark import Benchmark
from kappagcn.paper.runs import machine, versions
from kappagcn.paper.tables import Table

FILE = Path(__file__).parent.parent / "results" / "defaults.jsonl"
DATASETS = (
    *("texas", "cornell", "airports_europe", "disease", "chameleon_filtered", "airports_usa", "cora_ml", "citeseer"),
    *("chameleon", "airport", "polblogs", "actor", "amazon_computers", "pubmed"),
)
CANDIDATES: dict[str, dict[str, Any]] = {
    "MLP": {"model": "mlp"},
    "GCN": {"model": "gcn"},
    "paper": {"output": "paper"},
    "paper-bias": {"output": "paper-bias"},
    "midpoint": {"output": "midpoint"},
    "midpoint, κ = 0": {"output": "midpoint", "space": "E16"},
    "midpoint, κ from −0.01": {"output": "midpoint", "space": "H16(-0.01)"},
    "midpoint, own features apart": {"output": "midpoint", "self_features": True},
    "κ-APPNP": {"model": "appnp"},
}


def run(benchmark: Benchmark, number: int, name: str) -> dict[str, Any]:
    """One run on one split: accuracy on its validation nodes."""
    public = benchmark.dataset is not None and benchmark.dataset.entry.split == "public"
    split = benchmark.split(number, "test" if public else "validation")
    data = benchmark.data.clone()
    if not benchmark.has_features:
        data.x = None
    classifier = KappaGCNClassifier(**CANDIDATES[name], random_state=number, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit_split(data, read_labels(data), split)
    result = classifier.result_.record()
    return {
        "dataset": benchmark.name,
        "candidate": name,
        "split": number,
        "split_name": split.name,
        "accuracy": result["stopping_accuracy"] if public else result["validation_accuracy"],
        "curvatures": classifier.curvatures_,
        "epochs": result["epochs"],
        "seconds": result["seconds"],
        "versions": versions(),
        "machine": machine(),
    }


def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []


def table() -> Table:
    """Mean accuracy on validation nodes, datasets as rows."""
    values: dict[tuple[str, str], list[float]] = {}
    for each in records():
        values.setdefault((each["dataset"], each["candidate"]), []).append(each["accuracy"])
    datasets = [name for name in DATASETS if any(dataset == name for dataset, _ in values)]
    rows = [
        [d, *(f"{statistics.mean(values[d, c]):.3f}" if (d, c) in values else "" for c in CANDIDATES)] for d in datasets
    ]
    return Table(["", *CANDIDATES], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("datasets", nargs="*", metavar="DATASET")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    finished = {(each["dataset"], each["candidate"], each["split"]) for each in records()}
    for dataset in arguments.datasets or DATASETS:
        benchmark = Benchmark(dataset, arguments.data)
        for number in range(arguments.splits):
            for name in CANDIDATES:
                if (dataset, name, number) not in finished:
                    with FILE.open("a") as file:
                        file.write(json.dumps(run(benchmark, number, name), ensure_ascii=False) + "\n")
    print(table().markdown())


if __name__ == "__main__":
    main()
