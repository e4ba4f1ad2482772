"""Which defaults the classifier has, by accuracy on validation nodes: output layers, networks, own features apart.

python benchmarks/defaults.py [--data FOLDER] [--splits 2] [--candidates NAME ...] [--] [DATASET ...]

Appends a line for each run to records/defaults.jsonl.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch

from classifier_runs import Runs

DATASETS = [
    *("texas", "cornell", "airports_europe", "disease", "chameleon_filtered", "airports_usa", "cora_ml", "citeseer"),
    *("squirrel_filtered", "chameleon", "airport", "polblogs", "actor", "amazon_computers", "pubmed"),
]
CANDIDATES: dict[str, dict[str, Any]] = {
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
}
RUNS = Runs("defaults", CANDIDATES, "validation")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--candidates", nargs="+", choices=CANDIDATES, metavar="NAME", help="columns to run")
    parser.add_argument("datasets", nargs="*", metavar="DATASET")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    RUNS.run(arguments.datasets or DATASETS, arguments.splits, arguments.data, arguments.candidates)


if __name__ == "__main__":
    main()
