"""Edge weights scaled, as they are, ignored, and as ``edge_weights="auto"`` chooses, on graphs where they help or harm.

python benchmarks/weights.py [--data FOLDER]

Writes records/weights.json.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from statistics import mean
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch
from sklearn import datasets
from sklearn.neighbors import kneighbors_graph
from torch_geometric.data import Data

import record
from kappagcn import KappaGCNClassifier, KappaGCNLinkPredictor
from kappagcn.graphs import as_graph, from_networkx, random_split
from kappagcn.graphs.datasets.graph_dataset import load_benchmark

SEEDS, CHOICES = range(3), ("auto", "scaled", "raw", "none")


def weighted(first: Any, second: Any, weights: Any, y: Any, x: Any = None) -> Data:
    """A graph from edges in one direction."""
    half = sp.coo_array((weights, (first, second)), shape=(len(y),) * 2).tocsr()
    data = as_graph(half.maximum(half.T))
    data.y, data.x = torch.as_tensor(y), x
    return data


def blocks(rng: Any, weigh: Any, inside: float = 0.04, outside: float = 0.01) -> Data:
    """400 nodes of four classes, with these densities of edges within and between them."""
    (first, second), y = np.triu_indices(400, 1), np.arange(400) % 4
    edge = rng.random(len(first)) < np.where(y[first] == y[second], inside, outside)
    return weighted(first[edge], second[edge], weigh((y[first] == y[second])[edge]), y)


def amounts(rng: Any, spread: float, factor: float = 1.0) -> Any:
    """Log-normal weights, larger by a factor within classes."""
    return lambda same: np.where(same, factor, 1.0) * np.exp(spread * rng.normal(size=len(same)))


def table(name: str) -> Data:
    """600 rows of a table with their ten nearest rows, weighted by 1/d²."""
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    x, y = (x[:600] - x.mean(0)) / np.maximum(x.std(0), 1e-9), y[:600]
    near = kneighbors_graph(x, 10, mode="distance").tocoo()
    return weighted(near.row, near.col, 1 / np.maximum(near.data, 1e-3) ** 2, y)


def dataset(name: str, root: Any, weigh: Any) -> Data:
    """A published graph with weights of its edges by the features of their ends."""
    data = load_benchmark(name, root)[0]
    first, second = data.edge_index[:, data.edge_index[0] < data.edge_index[1]].numpy()
    x = (data.x if data.x.layout == torch.strided else data.x.to_dense()).numpy()
    return weighted(first, second, weigh(x[first], x[second]), data.y, data.x)


GRAPHS: dict[str, Callable[[Any, Any], Data]] = {  # by a generator and the folder of datasets
    "blocks, amounts e^N(0, 3²)": lambda rng, _: blocks(rng, amounts(rng, 3)),
    "blocks, amounts e^N(0, 1)": lambda rng, _: blocks(rng, amounts(rng, 1)),
    "blocks, Pareto of index 0.6": lambda rng, _: blocks(rng, lambda same: 1 + rng.pareto(0.6, len(same))),
    "Cora-ML, amounts e^N(0, 3²)": lambda rng, d: dataset("cora_ml", d, lambda a, b: amounts(rng, 3)(a[:, 0] < 0)),
    "Cora-ML, common words + 1": lambda _, d: dataset("cora_ml", d, lambda a, b: 1.0 + ((a > 0) & (b > 0)).sum(1)),
    "Airport, 1/distance": lambda _, d: dataset("airport", d, lambda a, b: 1 / (0.01 + np.hypot(*(a - b)[:, :2].T))),
    "even density, 10 e^N(0, 1) inside": lambda rng, _: blocks(rng, amounts(rng, 1, 10), 0.03, 0.03),
    "even density, 100 e^N(0, 2²) inside": lambda rng, _: blocks(rng, amounts(rng, 2, 100), 0.03, 0.03),
    "even density, 3 to 9 inside, 1 to 3": lambda rng, _: blocks(
        rng, lambda same: np.where(same, 3.0, 1.0) * rng.integers(1, 4, len(same)), 0.03, 0.03
    ),
    "counts, Poisson": lambda rng, _: blocks(rng, lambda same: 1.0 + rng.poisson(np.where(same, 4, 1)), 0.03, 0.02),
    "digits, 1/d²": lambda *_: table("digits"),
    "wine, 1/d²": lambda *_: table("wine"),
    "karate club": lambda *_: from_networkx(nx.karate_club_graph(), label="club"),
}


def classify(data: Data, choice: str, seed: int) -> float:
    """Accuracy on the nodes that neither train nor stop."""
    split = random_split(data.y, seed, train=0.1, stopping=0.1, validation=0.8)
    classifier = KappaGCNClassifier(epochs=400, patience=100, edge_weights=choice, random_state=seed, verbose=False)
    classifier.fit_split(data, data.y.numpy(), split)
    return float(classifier.score(y=data.y.numpy(), nodes=split.validation.numpy()))


def link(data: Data, choice: str, seed: int) -> float:
    """AUC on test pairs."""
    options: dict[str, Any] = {"epochs": 150, "patience": 40, "random_state": seed, "verbose": False}
    return float(KappaGCNLinkPredictor(edge_weights=choice, **options).fit(data).score())


def run(root: str | None) -> list[dict[str, Any]]:
    rows = []
    for name, make in GRAPHS.items():
        graphs = [make(np.random.default_rng(seed), root) for seed in SEEDS]
        tails = mean(float(data.edge_weight.max() / data.edge_weight.median()) for data in graphs)
        for task in (classify, link):
            means = {c: round(mean(task(data, c, seed) for seed, data in enumerate(graphs)), 3) for c in CHOICES}
            rows.append({"graph": name, "task": task.__name__, "largest_by_median": round(tails, 1), **means})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    record.save("weights", {"results": run(arguments.data)}, ("torch", "scikit-learn", "kappagcn"))


if __name__ == "__main__":
    main()
