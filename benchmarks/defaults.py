"""Which defaults the classifier has, by accuracy on validation nodes: output layers, networks, own features apart.

python benchmarks/defaults.py [--data FOLDER] [--splits 2] [DATASET ...]

Appends a line for each run to results/defaults.jsonl and writes docs/classifier-defaults.md from all of them.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import torch

import record
from classifier_runs import Runs
from kappagcn.paper.tables import Table

PAGE = record.DOCS / "classifier-defaults.md"
DATASETS = [
    *("texas", "cornell", "airports_europe", "disease", "chameleon_filtered", "airports_usa", "cora_ml", "citeseer"),
    *("chameleon", "airport", "polblogs", "actor", "amazon_computers", "pubmed"),
]
CANDIDATES: dict[str, dict[str, Any]] = {
    "MLP": {"model": "mlp"},
    "GCN": {"model": "gcn"},
    "paper": {"output": "paper", "self_features": "off", "space": "H16(-0.1)"},
    "paper-bias": {"output": "paper-bias", "self_features": "off", "space": "H16(-0.1)"},
    "midpoint": {"output": "midpoint", "self_features": "off", "space": "H16(-0.1)"},
    "midpoint, κ = 0": {"output": "midpoint", "self_features": "off", "space": "E16"},
    "midpoint, κ from −0.01": {"output": "midpoint", "self_features": "off", "space": "H16(-0.01)"},
    "midpoint, own features apart": {"output": "midpoint", "self_features": "on", "space": "H16(-0.1)"},
    "κ-APPNP": {"model": "appnp", "space": "H16(-0.1)"},
}
RUNS = Runs("defaults", CANDIDATES, "validation")


def table() -> Table:
    """Mean accuracy on validation nodes, datasets as rows."""
    rows = []
    for dataset in DATASETS:
        own = RUNS.by_candidate(dataset)
        if any(own.values()):
            means = (statistics.mean(r["accuracy"] for r in each.values()) if each else None for each in own.values())
            cells = ["" if mean is None else f"{mean:.3f}" for mean in means]
            rows.append([dataset, *cells])
    return Table(["", *CANDIDATES], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("datasets", nargs="*", metavar="DATASET")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if not arguments.page:
        RUNS.run(arguments.datasets or DATASETS, arguments.splits, arguments.data)
    print(table().markdown())


if __name__ == "__main__":
    main()
