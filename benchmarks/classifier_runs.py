"""Runs of classifiers on datasets, a line of JSON for each in records/PART.jsonl, none done twice.

python benchmarks/classifier_runs.py PART [--data FOLDER] [--count N] [--candidates NAME ...] [--] [DATASET ...]

Parts:
  curvature_pays   does it? The κ-GCN with a learned κ, with κ = 0 held, GCN and MLP, paired over splits, on test nodes
  defaults         which the classifier has, on validation nodes: output layers, networks, own features apart
  own_features     their rule where few nodes train, beside the MLP: training and stopping nodes of a graph's first
                   published split are divided anew into nodes to train, to stop and to measure
  taught           is self-training worth its time? Rows beside the paper's on validation nodes of splits that are not
                   the table's: the accuracy of the weights that would be kept after each round
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any, NamedTuple

import numpy as np
import torch

import record
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.evaluation import final_evaluation, run_record
from kappagcn.classification.fitting import fit
from kappagcn.classification.network import build_network
from kappagcn.graphs import Split
from kappagcn.graphs.datasets.graph_dataset import GraphDataset, load_benchmark
from kappagcn.graphs.measures.homophily import is_heterophilous
from kappagcn.paper import DATASETS, load_settings
from kappagcn.paper.cells import WIDER_ROWS
from kappagcn.paper.machine import made_by
from kappagcn.paper.runs import Record, record_lines
from kappagcn.training.labelled import read_labels
from kappagcn.training.trainer import seeded

MEASURED, STOPPING = 0.25, 0.3  # shares of the nodes that are divided anew
ROUNDS = 3  # of self-training


class Part(NamedTuple):
    """What is run: number of splits, datasets, and settings of the candidates."""

    count: int
    datasets: list[str]
    candidates: dict[str, dict[str, Any]]


PARTS = {
    "curvature_pays": Part(
        5,
        [
            *("texas", "cornell", "airports_brazil", "airports_europe", "disease", "chameleon_filtered"),
            *("airports_usa", "polblogs", "cora_ml", "citeseer", "chameleon", "airport", "actor", "amazon_computers"),
            "pubmed",
        ],
        {"learned κ": {}, "κ = 0": {"space": "E16"}, "GCN": {"model": "gcn"}, "MLP": {"model": "mlp"}},
    ),
    "defaults": Part(
        2,
        [
            *("texas", "cornell", "airports_europe", "disease", "chameleon_filtered", "airports_usa", "cora_ml"),
            *("citeseer", "squirrel_filtered", "chameleon", "airport", "polblogs", "actor", "amazon_computers"),
            "pubmed",
        ],
        {
            "MLP": {"model": "mlp"},
            "GCN": {"model": "gcn"},
            "paper": {"output": "paper", "self_features": "off", "space": "H16(-0.1)"},
            "paper-bias": {"output": "paper-bias", "self_features": "off", "space": "H16(-0.1)"},
            "midpoint": {"output": "midpoint", "self_features": "off", "space": "H16(-0.1)"},
            "midpoint, κ = 0": {"output": "midpoint", "self_features": "off", "space": "E16"},
            "midpoint, κ from −0.01": {"output": "midpoint", "self_features": "off", "space": "H16(-0.01)"},
            "midpoint, κ in units of rows": {"output": "midpoint", "self_features": "off"},
            "the same, κ 64 times as fast": {"output": "midpoint", "self_features": "off", "curvature_lr": 0.64},
            "midpoint, own features apart": {"output": "midpoint", "self_features": "on", "space": "H16(-0.1)"},
            "κ-APPNP": {"model": "appnp", "space": "H16(-0.1)"},
        },
    ),
    "own_features": Part(
        16, ["texas", "cornell"], {"default": {}, "not apart": {"self_features": "off"}, "MLP": {"model": "mlp"}}
    ),
    "taught": Part(10, [*DATASETS], {row: {} for row in WIDER_ROWS}),
}


def divided(split: Split, number: int) -> Split:
    """Training and stopping nodes of a split, divided anew."""
    nodes = np.random.default_rng(number).permutation(torch.cat([split.train, split.stopping]).numpy())
    measured = int(MEASURED * len(nodes))
    train = measured + int(STOPPING * len(nodes))
    return Split(nodes[train:], nodes[measured:train], nodes[:measured], [], name=f"partition {number}")


def classified(part: str, benchmark: GraphDataset, number: int, name: str) -> Record:
    """A run of the classifier; published splits have no validation nodes beside those that stop training."""
    public = benchmark.entry is not None and benchmark.entry.split == "public"
    if part == "own_features":
        split = divided(benchmark.numbered_split(0), number)
    else:
        split = benchmark.numbered_split(number, "test" if public or part == "curvature_pays" else "validation")
    data = benchmark[0]
    classifier = KappaGCNClassifier(**PARTS[part].candidates[name], random_state=number, verbose=False)
    classifier.fit_split(data, read_labels(data), split)
    result = run_record(classifier.result_)
    if part == "curvature_pays":
        accuracy = final_evaluation(classifier.model_, classifier._data, split)["accuracy"]
    else:
        accuracy = result["stopping_accuracy" if public and part == "defaults" else "validation_accuracy"]
    more = {"curvatures": classifier.curvatures_, "epochs": result["epochs"], "seconds": result["seconds"]}
    if part == "own_features":
        more |= {"train": len(split.train), "apart": getattr(classifier.model_, "own", None) is not None}
        more |= {"training_nodes_show_heterophily": is_heterophilous(data, split.train)}
    return {"split_name": split.name, "accuracy": accuracy, **more}


def taught(benchmark: GraphDataset, number: int, row: str) -> Record:
    """A row beside the paper's with rounds of self-training."""
    experiment = load_settings()[f"{benchmark.name}/{row}"].changed(self_training=ROUNDS)
    split, data = benchmark.numbered_split(number, "validation"), experiment.prepare(benchmark[0])
    seed = 1000 * number
    with seeded(seed):
        model = build_network(experiment.settings, data.num_features, benchmark.num_classes)
    result = fit(model, data, split, experiment.settings.training(random_state=seed))

    def kept(rounds: int) -> float:
        so_far = [each for each in result.history if each["round"] <= rounds]
        best = max(so_far, key=lambda each: (each["stopping_accuracy"], -each["stopping_loss"]))
        return float(best["validation_accuracy"])

    return {
        "split_name": split.name,
        "accuracy": [kept(rounds) for rounds in range(ROUNDS + 1)],
        "epochs": [sum(each["round"] == rounds for each in result.history) for rounds in range(ROUNDS + 1)],
        "seconds": round(result.seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--data", help="folder of the datasets")
    parser.add_argument("--count", type=int, help="number of splits")
    parser.add_argument("--candidates", nargs="+", metavar="NAME", help="all by default")
    parser.add_argument("datasets", nargs="*", metavar="DATASET", help="all by default")
    arguments = parser.parse_args()
    part = PARTS[arguments.part]
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    path = record.RECORDS / f"{arguments.part}.jsonl"
    known = (json.loads(line) for _, line in record_lines(path))
    finished = {(each["dataset"], each["candidate"], each["split"]) for each in known}
    for dataset in arguments.datasets or part.datasets:
        benchmark = load_benchmark(dataset, arguments.data)
        for number in range(arguments.count or part.count):
            for name in arguments.candidates or part.candidates:
                if (dataset, name, number) in finished:
                    continue
                is_taught = arguments.part == "taught"
                run = (
                    taught(benchmark, number, name)
                    if is_taught
                    else classified(arguments.part, benchmark, number, name)
                )
                line = {"dataset": dataset, "candidate": name, "split": number, **run, **made_by()}
                with path.open("a") as file:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
