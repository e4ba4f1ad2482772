"""Is self-training worth its time? Rows beside the paper's on validation nodes of splits that are not the table's.

python benchmarks/self_training.py [--data FOLDER] [--splits 10] [--rows ROW ...] [DATASET ...]

Appends a line for each run to records/self_training.jsonl: accuracy on validation nodes of the weights that would be
kept after each round. The section of docs/node-classification.md is made from all of them and from the records of
`kappagcn reproduce self-training`. No test node is used here.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

import torch

import record
from kappagcn.classification.fitting import fit
from kappagcn.graphs.datasets.graph_dataset import load_benchmark
from kappagcn.paper import DATASETS, Cell, Experiment, load_settings
from kappagcn.paper.cells import WIDER_ROWS
from kappagcn.paper.machine import made_by
from kappagcn.training.trainer import seeded

PATH = record.RECORDS / "self_training.jsonl"
ROUNDS = 3


def records() -> list[dict[str, Any]]:
    lines = PATH.read_text().splitlines() if PATH.exists() else []
    return [json.loads(line) for line in lines]


def run(datasets: list[str], rows: list[str], splits: int, root: str | None) -> None:
    """Do what is missing, split by split."""
    finished = {(r["dataset"], r["row"], r["split"]) for r in records()}
    for dataset in datasets:
        for number in range(splits):
            for row in rows:
                if (dataset, row, number) not in finished:
                    line = json.dumps(_run(Cell(dataset, row), number, root), ensure_ascii=False)
                    with PATH.open("a") as file:
                        file.write(line + "\n")


def _run(cell: Cell, number: int, root: str | None) -> dict[str, Any]:
    chosen = load_settings()[cell.name]
    experiment = Experiment(cell.dataset, chosen.model, replace(chosen.settings, self_training=ROUNDS))
    benchmark, seed = load_benchmark(cell.dataset, root), 1000 * number
    split, data = benchmark.numbered_split(number, "validation"), experiment.prepare(benchmark[0])
    with seeded(seed):
        model = experiment.build(data.num_features, benchmark.num_classes)
    result = fit(model, data, split, experiment.training(seed))
    return {
        "dataset": cell.dataset,
        "row": cell.row,
        "split": number,
        "split_name": split.name,
        "accuracy": [_kept(result.history, rounds) for rounds in range(ROUNDS + 1)],
        "epochs": [sum(each["round"] == rounds for each in result.history) for rounds in range(ROUNDS + 1)],
        "seconds": round(result.seconds, 2),
        **made_by(),
    }


def _kept(history: list[dict[str, Any]], rounds: int) -> float:
    """Accuracy on validation nodes of the weights that are kept after so many rounds."""
    so_far = [each for each in history if each["round"] <= rounds]
    best = max(so_far, key=lambda each: (each["stopping_accuracy"], -each["stopping_loss"]))
    return float(best["validation_accuracy"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", nargs="+", choices=WIDER_ROWS, default=list(WIDER_ROWS))
    parser.add_argument("datasets", nargs="*", metavar="DATASET")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    run(arguments.datasets or list(DATASETS), arguments.rows, arguments.splits, arguments.data)


if __name__ == "__main__":
    main()
