"""The rule for own features where few nodes train: the classifier beside the MLP, without any test node.

python benchmarks/own_features.py [--data FOLDER] [--partitions 16]

Training and stopping nodes of a graph's first published split are divided anew into nodes to train, to stop and to
measure. Appends a line for each run to records/own_features.jsonl.
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np
import torch

import record
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.graphs import Split
from kappagcn.graphs.datasets.graph_dataset import GraphDataset, load_benchmark
from kappagcn.graphs.measures.homophily import is_heterophilous
from kappagcn.paper.machine import made_by
from kappagcn.training.labelled import read_labels

PATH = record.RECORDS / "own_features.jsonl"
DATASETS = ("texas", "cornell")
CANDIDATES: dict[str, dict[str, Any]] = {"default": {}, "not apart": {"self_features": "off"}, "MLP": {"model": "mlp"}}
MEASURED, STOPPING = 0.25, 0.3  # shares of the nodes


def partition(split: Split, number: int) -> Split:
    """Training and stopping nodes of a split, divided anew."""
    nodes = np.random.default_rng(number).permutation(torch.cat([split.train, split.stopping]).numpy())
    measured = int(MEASURED * len(nodes))
    train = measured + int(STOPPING * len(nodes))
    return Split(nodes[train:], nodes[measured:train], nodes[:measured], [], name=f"partition {number}")


def records() -> list[dict[str, Any]]:
    lines = PATH.read_text().splitlines() if PATH.exists() else []
    return [json.loads(line) for line in lines]


def run(partitions: int, root: str | None) -> None:
    """Do what is missing."""
    finished = {(r["dataset"], r["candidate"], r["partition"]) for r in records()}
    for dataset in DATASETS:
        benchmark = load_benchmark(dataset, root)
        for number in range(partitions):
            split = partition(benchmark.numbered_split(0), number)
            for name, settings in CANDIDATES.items():
                if (dataset, name, number) not in finished:
                    line = json.dumps(_run(benchmark, split, number, name, settings), ensure_ascii=False)
                    with PATH.open("a") as file:
                        file.write(line + "\n")


def _run(benchmark: GraphDataset, split: Split, number: int, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    classifier = KappaGCNClassifier(**settings, random_state=number, verbose=False)
    data = benchmark[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit_split(data, read_labels(data), split)
    return {
        "dataset": benchmark.name,
        "candidate": name,
        "partition": number,
        "train": len(split.train),
        "accuracy": classifier.result_.record()["validation_accuracy"],
        "apart": bool(getattr(classifier.model_, "own", None) is not None),
        "training_nodes_show_heterophily": is_heterophilous(benchmark[0], split.train),
        **made_by(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--partitions", type=int, default=16)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    run(arguments.partitions, arguments.data)


if __name__ == "__main__":
    main()
