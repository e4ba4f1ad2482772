"""The rule for own features where few nodes train: the classifier beside the MLP, without any test node.

python benchmarks/own_features.py [--data FOLDER] [--partitions 16]

Training and stopping nodes of a graph's first published split are divided anew into nodes to train, to stop and to
measure. Appends a line for each run to results/own_features.jsonl; benchmarks/defaults.py makes the section of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from typing import Any

import numpy as np
import torch

from classifier_runs import RESULTS
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.graphs import Split
from kappagcn.graphs.datasets.benchmark import Benchmark
from kappagcn.graphs.measures.homophily import is_heterophilous
from kappagcn.paper.runs import made_by
from kappagcn.paper.tables import Table
from kappagcn.training.estimate import Estimate, bootstrapped
from kappagcn.training.labelled import read_labels
from wider_rows import signed

PATH = RESULTS / "own_features.jsonl"
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
        benchmark = Benchmark(dataset, root)
        for number in range(partitions):
            split = partition(benchmark.split(0), number)
            for name, settings in CANDIDATES.items():
                if (dataset, name, number) not in finished:
                    line = json.dumps(_run(benchmark, split, number, name, settings), ensure_ascii=False)
                    with PATH.open("a") as file:
                        file.write(line + "\n")


def _run(benchmark: Benchmark, split: Split, number: int, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    classifier = KappaGCNClassifier(**settings, random_state=number, verbose=False)
    data = benchmark.data.clone()
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
        "training_nodes_show_heterophily": is_heterophilous(benchmark.data, split.train),
        **made_by(),
    }


def by_candidate(dataset: str) -> dict[str, dict[int, dict[str, Any]]]:
    """Records of the partitions that all candidates have."""
    own: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in CANDIDATES}
    for each in records():
        if each["dataset"] == dataset:
            own[each["candidate"]][each["partition"]] = each
    both = sorted(set.intersection(*(set(each) for each in own.values())))
    return {name: {i: each[i] for i in both} for name, each in own.items()}


def beside_mlp(dataset: str) -> Estimate:
    """The default less the MLP, paired over the partitions."""
    own = by_candidate(dataset)
    return bootstrapped([each["accuracy"] - own["MLP"][i]["accuracy"] for i, each in own["default"].items()])


def table() -> Table:
    """The rule, the same on training nodes alone, and the MLP."""
    rows = []
    for dataset in DATASETS:
        own = by_candidate(dataset)
        default, mlp = own["default"], own["MLP"]
        shown = [each["training_nodes_show_heterophily"] for each in default.values()]
        alone = [(default if each else own["not apart"])[i]["accuracy"] for i, each in zip(default, shown, strict=True)]
        before = bootstrapped([a - mlp[i]["accuracy"] for i, a in zip(default, alone, strict=True)])
        means = [statistics.mean(each["accuracy"] for each in mlp.values()), statistics.mean(alone)]
        means.append(statistics.mean(each["accuracy"] for each in default.values()))
        counts = [
            str(len(default)),
            str(next(iter(default.values()))["train"]),
            str(sum(shown)),
            str(sum(each["apart"] for each in default.values())),
        ]
        words = [f"{mean:.3f}" for mean in means]
        rows.append([dataset, *counts, *words, signed(before), signed(beside_mlp(dataset))])
    heads = "|partitions|training nodes|apart, by training nodes|apart, by both|MLP|by training nodes|by both"
    return Table([*heads.split("|"), "by training nodes − MLP", "by both − MLP"], rows)


def section() -> str:
    """The section of the page about defaults."""
    return f"""## Own features where few nodes train

Whether a graph is heterophilous is judged by the edges between training **and stopping** nodes. Between training nodes
alone there are too few in small graphs, and the rule then takes a graph for homophilous. Training and stopping nodes of
the first published split, divided anew several times into nodes to train, to stop and to measure; no test node of that
split. Means of accuracy on the nodes to measure:

{table().markdown()}

`python benchmarks/own_features.py` repeats it.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--partitions", type=int, default=16)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    run(arguments.partitions, arguments.data)
    print(table().markdown())


if __name__ == "__main__":
    main()
