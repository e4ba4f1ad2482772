"""Does curvature pay? The κ-GCN with a learned κ, the same with κ = 0 held, and GCN, paired over splits.

python benchmarks/curvature_pays.py [--data FOLDER] [--splits 5] [DATASET ...]

Appends a line for each run to results/curvature_pays.jsonl. The section of docs/node-classification.md and its picture
are made from all of them by benchmarks/node_classification.py.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch

import own_features
from classifier_runs import Runs
from kappagcn.paper.tables import Table
from kappagcn.training.estimate import Estimate, bootstrapped
from kappagcn.view.figures.style import THEMES, save, styled
from wider_rows import signed

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
OWN_FEATURES = ("texas", "cornell", "actor")  # graphs on which own features are kept apart by the default rule
CHANCE = 0.05  # share of graphs without any difference that a 95 % interval takes for different
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
        differences = [signed(paired("learned κ", other, dataset)) for other in ("κ = 0", "GCN")]
        kappa = bootstrapped([record["curvatures"][0] for record in own["learned κ"].values()])
        rows.append([dataset, str(len(own["learned κ"])), *means, *differences, str(kappa)])
    heads = ["", "splits", *CANDIDATES, "learned κ − (κ = 0)", "learned κ − GCN", "κ at the end"]
    return Table(heads, rows)


def section() -> str:
    """The section of the page; empty without runs."""
    datasets = measured()
    if not datasets:
        return ""
    splits = sorted({len(RUNS.by_candidate(dataset)["learned κ"]) for dataset in datasets})
    return f"""## Does curvature help?

{_answer(datasets)}

The classifier with its defaults on {len(datasets)} labelled graphs: κ learned (H16, from |κ|r² = 1/64 on, r² being the
mean square length of the rows), κ = 0 held (E16), GCN and an MLP on the features alone; the same splits and seeds for
all, {" or ".join(map(str, splits))} splits, differences paired over them, with bootstrapped 95 % intervals, which so
few splits leave uncertain. One seed gives the first three the same initial weights; without own features apart, κ = 0
held and GCN are one network.

{table().markdown()}

<picture>
<source media="(prefers-color-scheme: dark)" srcset="images/curvature-pays-dark.svg">
<img src="images/curvature-pays-light.svg" alt="Difference in accuracy between learned and no curvature, by graph">
</picture>

The default, by more than the interval:

{_counted("κ = 0", datasets)}
{_counted("GCN", datasets)}
{_counted("MLP", datasets)}

Beside the MLP on the graphs whose own features are kept apart, the best of ours, by test mean:

{_beside_mlp(datasets)}

{_without_test_nodes()}

What it has more than GCN on heterophilous graphs comes from keeping own features apart, not from curvature. Learning κ
faster is no better on validation nodes ([defaults](classifier-defaults.md)). Curvature helps to keep distances
([embeddings](embeddings.md)).

`python benchmarks/curvature_pays.py` repeats it.
"""


def _answer(datasets: list[str]) -> str:
    """In one sentence."""
    sides = _sides("κ = 0", datasets)
    numbers = f"ahead of κ = 0 on {len(sides['ahead'])} of {len(datasets)} graphs and behind on {len(sides['behind'])}"
    more = len(sides["ahead"]) - len(sides["behind"])
    answer = "Sometimes" if more > max(1.0, CHANCE * len(datasets)) else "Not in node classification"
    return (
        f"**{answer}**: learned curvature is {numbers}, by more than the interval of the paired difference; by chance "
        "that happens on about one graph in twenty."
    )


def _sides(other: str, datasets: list[str]) -> dict[str, list[str]]:
    """Graphs, with the difference, on which learned curvature is ahead and behind."""
    sides: dict[str, list[str]] = {"ahead": [], "behind": []}
    for dataset in datasets:
        difference = paired("learned κ", other, dataset)
        assert difference is not None
        interval = difference.interval or 0.0
        if abs(difference.mean) > interval:
            sides["ahead" if difference.mean > 0 else "behind"].append(f"{dataset} {signed(difference)}")
    return sides


def _counted(other: str, datasets: list[str]) -> str:
    """On which graphs learned curvature is ahead and behind, in words."""
    sides = _sides(other, datasets)
    words = "; ".join(f"{side} on {', '.join(names) or 'none'}" for side, names in sides.items())
    return f"- beside **{other}**: {words}."


def _beside_mlp(datasets: list[str]) -> str:
    """The best network of ours beside the MLP, a line for each graph: ahead or level by its interval, or behind."""
    lines = []
    for dataset in (each for each in OWN_FEATURES if each in datasets):
        own = RUNS.by_candidate(dataset)
        ours = [name for name in CANDIDATES if name != "MLP"]
        best = max(ours, key=lambda name: statistics.mean(r["accuracy"] for r in own[name].values()))
        difference = paired(best, "MLP", dataset)
        assert difference is not None
        interval = difference.interval or 0.0
        side = "behind" if difference.mean < -interval else "ahead" if difference.mean > interval else "level"
        below = ", but the mean is not at least the MLP's" if difference.mean < 0 and side == "level" else ""
        lines.append(f"- **{dataset}**: {best} {signed(difference)}, {side} within the interval{below}.")
    return "\n".join(lines)


def _without_test_nodes() -> str:
    """The default less the MLP where no test node is looked at."""
    parts = [f"{dataset} {signed(own_features.beside_mlp(dataset))}" for dataset in own_features.DATASETS]
    return f"""Texas and Cornell have 37 test nodes in each published split, so intervals are wide. On nodes of the
first split that are not its test nodes, divided anew several times, the default less the MLP: {", ".join(parts)}
([record](classifier-defaults.md#own-features-where-few-nodes-train))."""


def draw(folder: Path) -> list[Path]:
    """Differences between learned and no curvature, by graph, as pictures of both themes."""
    datasets = measured()
    estimates = [paired("learned κ", "κ = 0", dataset) for dataset in datasets]
    paths = []
    for theme in THEMES.values():
        with styled(theme):
            figure, axes = plt.subplots(figsize=(6.4, 0.8 + 0.28 * len(datasets)))
            for y, each in enumerate(estimates):
                axes.errorbar(each.mean, -y, xerr=each.interval, fmt="o", color=theme.palette[0], markersize=4)
            axes.axvline(0, color=theme.muted, linewidth=0.8)
            axes.set_yticks([-y for y in range(len(datasets))], datasets)
            axes.set_xlabel("accuracy with learned κ − accuracy with κ = 0")
            above = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "size": 9}
            axes.annotate("← κ = 0 is better", (0, 1), (-8, 4), ha="right", **above)
            axes.annotate("learned κ is better →", (0, 1), (8, 4), **above)
            paths.append(save(figure, folder / f"curvature-pays-{theme.name}.svg"))
            plt.close(figure)
    return paths


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
