"""Shortest paths beside NetworkX, SciPy and rustworkx, and what large graphs cost.

    python benchmarks/graphs.py           measures, keeps records/graphs.json

KAPPAGCN_DATA must name a folder with pubmed.npz. Times are medians of interleaved runs in one process; slow peers run
on fewer sources, and their time is scaled to all. Memory is the largest resident set of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import rustworkx as rx
from scipy.sparse import csgraph

import record
from algorithm1 import sampled_curvature
from kappagcn import graphs
from timing import medians

REPEATS = 7
FEW = 20  # sources NetworkX gets
BIG_NODES, BIG_EDGES = 1_000_000, 10_000_000


def peers(data: Any, sources: np.ndarray) -> dict[str, tuple[Callable[[], Any], float]]:
    """What to run, and by how much its time counts for all sources."""
    matrix = graphs.adjacency(data)
    network = nx.empty_graph(data.num_nodes)
    network.add_edges_from(data.edge_index.T.tolist())
    few = sources[:FEW].tolist()
    result = {
        "kappagcn": (lambda: graphs.shortest_paths(data, sources), 1.0),
        "scipy": (lambda: csgraph.dijkstra(matrix, indices=sources, unweighted=True), 1.0),
        "networkx": (
            lambda: [nx.single_source_shortest_path_length(network, s) for s in few],
            len(sources) / len(few),
        ),
    }
    if len(sources) == data.num_nodes:
        graph = rx.PyGraph()
        graph.add_nodes_from(range(data.num_nodes))
        graph.add_edges_from_no_data([(u, v) for u, v in data.edge_index.T.tolist() if u < v])
        result["rustworkx"] = (lambda: rx.distance_matrix(graph), 1.0)
    return result


def compare(name: str, data: Any, sources: np.ndarray) -> dict[str, Any]:
    runs = peers(data, sources)
    times = medians({peer: run for peer, (run, _) in runs.items()}, REPEATS, warm_up=0)
    result = {peer: times[peer] * scale for peer, (_, scale) in runs.items()}
    return {"case": name, "nodes": data.num_nodes, "sources": len(sources), "seconds": result}


def alone(what: str, *arguments: str) -> dict[str, Any]:
    """A job in a process of its own: its words, seconds and largest memory."""
    done = subprocess.run(
        [sys.executable, __file__, "--job", what, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def job(what: str, arguments: list[str]) -> None:
    start = time.perf_counter()
    if what == "curvature":
        data = graphs.load_graph("pubmed", root=arguments[0], sparse=True, download=False)
        start = time.perf_counter()
        if samples := int(arguments[1]):
            mean, error, _ = sampled_curvature(data, samples)
            words = f"{mean:+.4g} ± {error:.2g} (Algorithm 1, {samples:,} samples per node)"
        else:
            words = str(graphs.parallelogram_curvature(data))
    else:
        data = graphs.read_graph(arguments[0])
        read = time.perf_counter() - start
        words = f"{data.num_edges // 2:,} edges, read in {read:.0f} s; curvature {graphs.describe(data).curvature}"
    spent = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": spent, "memory": memory, "words": words}))


def big_files(folder: Path) -> dict[str, Path]:
    """A million nodes, ten million edges, the ends of half of them skewed towards hubs."""
    rng = np.random.default_rng(0)
    ends = np.stack([rng.integers(BIG_NODES, size=BIG_EDGES), (BIG_NODES * rng.random(BIG_EDGES) ** 2).astype(int)])
    np.savez_compressed(folder / "big.npz", edge_index=ends.astype(np.int32), num_nodes=BIG_NODES)
    for name, mark in (("numbers.csv", ""), ("names.csv", "node")):
        with (folder / name).open("w") as file:
            for start in range(0, BIG_EDGES, 10**6):
                rows = ends[:, start : start + 10**6].T.tolist()
                file.write("".join(f"{mark}{u},{mark}{v}\n" for u, v in rows))
    return {"npz": folder / "big.npz", "CSV, integers": folder / "numbers.csv", "CSV, names": folder / "names.csv"}


def measure(folder: str) -> dict[str, Any]:
    rows = []
    for name in ("tree", "torus", "sphere"):
        data = graphs.load_graph(name)
        rows.append(compare(f"{name}, all pairs", data, np.arange(data.num_nodes)))
    pubmed = graphs.load_graph("pubmed", root=folder, sparse=True, download=False)
    sources = np.random.default_rng(0).choice(pubmed.num_nodes, 500, replace=False)
    rows.append(compare("pubmed, 500 sources", pubmed, sources))
    for words, samples in (
        ("Algorithm 1 on pubmed, 1000 samples per node", "1000"),
        ("exact curvature of pubmed", "0"),
    ):
        rows.append({"case": words, **alone("curvature", folder, samples)})
    with tempfile.TemporaryDirectory() as place:
        for form, path in big_files(Path(place)).items():
            rows.append({"case": f"1,000,000 nodes from {form}: read and described", **alone("big", str(path))})
    return {"repeats": REPEATS, "results": rows}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", nargs="+")
    arguments = parser.parse_args()
    if arguments.job:
        job(arguments.job[0], arguments.job[1:])
        return
    if "KAPPAGCN_DATA" not in os.environ:
        sys.exit("expected KAPPAGCN_DATA to name a folder with pubmed.npz, found it unset.")
    packages = ("kappagcn", "numpy", "scipy", "networkx", "rustworkx")
    record.save("graphs", measure(os.environ["KAPPAGCN_DATA"]), packages)


if __name__ == "__main__":
    main()
