"""Does curvature pay? The κ-GCN with a learned κ, the same with κ = 0 held, and GCN, paired over splits.

python benchmarks/curvature_pays.py [--data FOLDER] [--splits 5] [DATASET ...]

Appends a line for each run to results/curvature_pays.jsonl. The section of docs/node-classification.md and its picture
are made from all of them by benchmarks/node_classification.py.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch

from classifier_runs import Runs
from kappagcn.estimators import bootstrapped
from kappagcn.estimators.estimate import Estimate
from kappagcn.paper.tables import Table

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


def paired(one: str, other: str, dataset: str) -> Estimate | None:
    """Mean difference of accuracy on the splits that both have."""
    own = RUNS.by_candidate(dataset)
    both = sorted(own[one].keys() & own[other].keys())
    return bootstrapped([own[one][s]["accuracy"] - own[other][s]["accuracy"] for s in both]) if both else None


def measured() -> list[str]:
    """Datasets on which all candidates have at least two splits in common."""
    counts = {d: min(len(each) for each in RUNS.by_candidate(d).values()) for d in DATASETS}
    return [dataset for dataset, count in counts.items() if count > 1]


def table() -> Table:
    rows = []
    for dataset in measured():
        own = RUNS.by_candidate(dataset)
        means = [str(bootstrapped([r["accuracy"] for r in own[name].values()])) for name in CANDIDATES]
        differences = [_signed(paired("learned κ", other, dataset)) for other in ("κ = 0", "GCN")]
        kappa = bootstrapped([record["curvatures"][0] for record in own["learned κ"].values()])
        rows.append([dataset, str(len(own["learned κ"])), *means, *differences, str(kappa)])
    heads = ["", "splits", *CANDIDATES, "learned κ − (κ = 0)", "learned κ − GCN", "κ at the end"]
    return Table(heads, rows)


def _signed(difference: Estimate | None) -> str:
    assert difference is not None
    return ("+" if difference.mean > 0 else "") + str(difference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("datasets", nargs="*", metavar="DATASET")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    RUNS.run(arguments.datasets or DATASETS, arguments.splits, arguments.data)
    print(table().markdown())


if __name__ == "__main__":
    main()
