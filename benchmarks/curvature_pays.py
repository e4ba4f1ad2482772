"""Does curvature pay? The κ-GCN with a learned κ, the same with κ = 0 held, and GCN, paired over splits.

python benchmarks/curvature_pays.py [--data FOLDER] [--splits 5] [DATASET ...]

Appends a line for each run to records/curvature_pays.jsonl.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch

from classifier_runs import Runs

DATASETS = [
    *("texas", "cornell", "airports_brazil", "airports_europe", "disease", "chameleon_filtered", "airports_usa"),
    *("polblogs", "cora_ml", "citeseer", "chameleon", "airport", "actor", "amazon_computers", "pubmed"),
]
CANDIDATES: dict[str, dict[str, Any]] = {
    "learned κ": {},
    "κ = 0": {"space": "E16"},
    "GCN": {"model": "gcn"},
    "MLP": {"model": "mlp"},
}
RUNS = Runs("curvature_pays", CANDIDATES, "test")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("datasets", nargs="*", metavar="DATASET")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    RUNS.run(arguments.datasets or DATASETS, arguments.splits, arguments.data)


if __name__ == "__main__":
    main()
