"""Speed and memory of κ-GCN layers beside PyG's GCNConv and our own GCN, and what float32 costs far out.

    KAPPAGCN_DATA=... python benchmarks/layers.py         measures, keeps records/layers.json
    python benchmarks/layers.py --precision               measures precision alone, keeps the rest of the record
    python benchmarks/layers.py --beside                  measures layers beside PyG's and torch.compile alone

A step is forward, backward and optimiser of a network of two convolutions, 16 hidden columns, cross-entropy on the
training nodes; networks take turns in one process, and times are medians. PyG's is used as its documentation shows:
dense features, edge_index, cached. Ours have the same features as a sparse matrix where they are sparse. Memory is
the peak of the resident set of a process that does nothing else.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GCNConv

import layers_beside_pyg
import record
from kappagcn.geometry import Curvature, Stereographic
from kappagcn.graphs import load_graph
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn import KappaGCNConv, SparseMatrix, aggregate, normalized_adjacency
from timing import medians

HIDDEN = 16
REACH = 100
GROWING = (10_000, 30_000, 100_000, 300_000, 1_000_000)
RADII = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16)
PACKAGES = ("torch", "torch_geometric", "numba", "kappagcn")


class Net(nn.Module):
    """Two convolutions."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Any, graph: Any) -> Tensor:
        """Logits."""
        return self.second(self.first(x, graph).relu(), graph)


def networks(features: int, classes: int) -> dict[str, Net]:
    def curved(kappa: float, **options: Any) -> Net:
        space = Stereographic(Curvature(kappa, trainable=True))
        sizes = ((features, HIDDEN), (HIDDEN, classes))
        return Net(*(KappaGCNConv(*size, manifold=space, **options) for size in sizes))

    def flat() -> Net:
        return Net(
            KappaGCNConv(features, HIDDEN, manifold=0.0, aggregation="tangential"),
            KappaGCNConv(HIDDEN, classes, manifold=0.0, aggregation="tangential"),
        )

    return {
        "κ = −1": curved(-1.0),
        "κ = +1": curved(1.0),
        "κ = −1, float64 mode": curved(-1.0, double=True),
        "κ = −1, without numba": curved(-1.0),
        "own GCN": flat(),
        "PyG GCN": Net(GCNConv(features, HIDDEN, cached=True), GCNConv(HIDDEN, classes, cached=True)),
    }


def steps(x: Any, dense: Tensor | None, edges: Tensor, y: Tensor, train: Tensor) -> dict[str, Callable[[], None]]:
    torch.manual_seed(0)
    adjacency = normalized_adjacency(edges, num_nodes=len(y))
    results = {}
    for name, net in networks(x.shape[1], int(y.max()) + 1).items():
        if name == "PyG GCN" and dense is None:
            continue
        inputs = (dense, edges) if name == "PyG GCN" else (x, adjacency)
        optimiser = torch.optim.Adam(net.parameters(), lr=0.01, fused=name != "PyG GCN" or None)

        def step(net: Net = net, inputs: Any = inputs, optimiser: Any = optimiser) -> None:
            optimiser.zero_grad()
            cross_entropy(net(*inputs)[train], y[train]).backward()
            optimiser.step()

        def plainly(step: Callable[[], None] = step) -> None:
            with torch_only():
                step()

        results[name] = plainly if "without numba" in name else step
    return results


def real_steps(name: str, root: str) -> dict[str, Callable[[], None]]:
    """A step of each network on a dataset, with twenty training nodes of each class."""
    sparse, dense = (load_graph(name, root=root, sparse=flag, download=False) for flag in (True, False))
    generator = torch.Generator().manual_seed(0)
    classes = int(dense.y.max()) + 1
    train = torch.cat([(dense.y == c).nonzero().flatten()[:20] for c in range(classes)])
    train = train[torch.randperm(len(train), generator=generator)]
    return steps(SparseMatrix.from_tensor(sparse.x), dense.x, dense.edge_index, dense.y, train)


def real(name: str, root: str, repeats: int) -> dict[str, Any]:
    data, times = load_graph(name, root=root, download=False), medians(real_steps(name, root), repeats)
    return {"case": name, "nodes": data.num_nodes, "edges": data.num_edges // 2, "seconds": times}


def drop_in(name: str, root: str, repeats: int) -> dict[str, Any]:
    """One layer in place of GCNConv on dense features and edge_index, as one line of a script is changed."""
    data = load_graph(name, root=root, download=False)
    x, runs = data.x.to_dense(), {}
    for cached in (False, True):
        layers = {
            "GCNConv": GCNConv(x.shape[1], HIDDEN, cached=cached),
            "KappaGCNConv": KappaGCNConv(x.shape[1], HIDDEN, cached=cached, manifold=f"H{HIDDEN}"),
        }
        for label, layer in layers.items():

            def step(layer: nn.Module = layer) -> None:
                layer.zero_grad()
                layer(x, data.edge_index).sum().backward()

            runs[f"{label}{', cached' if cached else ''}"] = step
    return {"case": "drop-in", "graph": name, "drop_in": medians(runs, repeats)}


def random_graph(nodes: int, edges: int, reach: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Edges between any two nodes, or between nodes whose numbers differ by at most `reach`."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(nodes, (edges,), generator=generator)
    step = torch.randint(nodes, (edges,), generator=generator) if reach is None else _steps(edges, reach, generator)
    one_way = torch.stack([source, (source + step) % nodes])
    x = torch.randn(nodes, 64, generator=generator)
    return x, torch.cat([one_way, one_way.flip(0)], 1), torch.randint(7, (nodes,), generator=generator)


def _steps(edges: int, reach: int, generator: torch.Generator) -> Tensor:
    return torch.randint(1, reach + 1, (edges,), generator=generator)


def large(repeats: int) -> dict[str, Any]:
    nodes, edges = 200_000, 1_000_000
    x, edge_index, y = random_graph(nodes, edges)
    times = medians(steps(x, None, edge_index, y, torch.arange(1000)), max(7, repeats // 3))
    return {"case": "random, 64 dense features", "nodes": nodes, "edges": edges, "seconds": times}


def sleeping(repeats: int) -> dict[str, Any]:
    """The large graph where torch's threads sleep when they have nothing to do, in a process of its own."""
    names = ("κ = −1", "κ = +1", "own GCN")
    times = alone("--large", str(repeats), OMP_WAIT_POLICY="PASSIVE")
    return {"case": "sleeping threads", "sleeping": dict(zip(names, times, strict=True))}


def peak_gib() -> float:
    """Peak of this process' resident set."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def forget_peak() -> None:
    """Begin the peak anew, from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def grown(nodes: int, reach: int | None) -> None:
    """In a process of its own: seconds of a step, GiB with the data loaded, GiB at the peak of training."""
    x, edge_index, y = random_graph(nodes, 5 * nodes, reach)
    adjacency = normalized_adjacency(edge_index, num_nodes=nodes)
    adjacency.csr_transpose()
    net = networks(64, 7)["κ = −1"]
    train = torch.arange(1000)
    forget_peak()
    before, times = peak_gib(), []
    for _ in range(7):
        start = time.perf_counter()
        net.zero_grad()
        cross_entropy(net(x, adjacency)[train], y[train]).backward()
        times.append(time.perf_counter() - start)
    print(statistics.median(times), before, peak_gib())


def pubmed_memory(root: str) -> None:
    """In a process of its own: the peak of training on Pubmed, all of Python included."""
    data = load_graph("pubmed", root=root, sparse=True, download=False)
    from kappagcn.classification.fitting import fit
    from kappagcn.graphs import VALIDATION_SEEDS, ppnp_split
    from kappagcn.models import KappaGCN
    from kappagcn.nn import PointFeatures
    from kappagcn.training.settings import TrainingSettings

    data = PointFeatures("H16")(data)
    model = KappaGCN(data.x.shape[1], 3, "H16", dropout=0.5, adjacency_dropout=0.5)
    fit(model, data, ppnp_split(data.y, VALIDATION_SEEDS[0]), TrainingSettings(epochs=30))
    print(peak_gib())


def alone(*arguments: str, **variables: str) -> list[float]:
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **variables})
    return [float(word) for word in done.stdout.split()]


def exact_midpoint(weights: list[float], rows: list[list[float]], kappa: float) -> list[float]:
    """log_0 of the midpoint for κ < 0, in 50 digits."""
    with mpmath.workdps(50):
        root = mpmath.sqrt(-kappa)
        total, height = [mpmath.mpf(0)] * len(rows[0]), mpmath.mpf(0)
        for weight, row in zip(weights, rows, strict=True):
            size = mpmath.sqrt(sum(mpmath.mpf(c) ** 2 for c in row))
            height += mpmath.mpf(weight) * mpmath.cosh(2 * root * size)
            factor = mpmath.mpf(weight) * mpmath.sinh(2 * root * size) / (root * size)
            total = [t + factor * mpmath.mpf(c) for t, c in zip(total, row, strict=True)]
        size = mpmath.sqrt(sum(t**2 for t in total))
        scale = sum(map(mpmath.mpf, weights)) * mpmath.atanh(root * size / height) / (2 * root * size)
        return [float(scale * t) for t in total]


def error_by_radius(count: int = 100) -> list[dict[str, Any]]:
    """Worst relative error of midpoints of four points within 0.5/√−κ of each other, r/√−κ from the origin."""
    rows = []
    for radius in RADII:
        generator = torch.Generator().manual_seed(radius)
        errors: dict[str, float] = {"float32": 0.0, "float64 mode": 0.0}
        for kappa in (-1.0, -0.25, -4.0):
            centre = torch.randn(count, 1, 8, generator=generator)
            aside = 0.2 / math.sinh(radius) * torch.randn(count, 4, 8, generator=generator)
            v = centre / centre.norm(dim=-1, keepdim=True) + aside
            lengths = (radius + 0.2 * torch.rand(count, 4, 1, generator=generator) - 0.2) / 2 / (-kappa) ** 0.5
            v = (v / v.norm(dim=-1, keepdim=True) * lengths).reshape(4 * count, 8)
            weights = torch.rand(4 * count, generator=generator) + 0.1
            places = torch.arange(4 * count)
            matrix = SparseMatrix(places // 4, places, weights, (count, 4 * count))
            for mode, double in (("float32", False), ("float64 mode", True)):
                actual = aggregate(v, matrix, Stereographic(kappa), double=double).double()
                for i in range(count):
                    own = slice(4 * i, 4 * i + 4)
                    want = torch.tensor(exact_midpoint(weights[own].tolist(), v[own].tolist(), kappa)).double()
                    errors[mode] = max(errors[mode], float((actual[i] - want).norm() / want.norm()))
        rows.append({"case": "error", "radius": radius, "errors": errors})
    return rows


def beside_pyg(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Layers beside PyG's, as they are and compiled."""
    torch.set_num_threads(options.threads)
    ways: tuple[Any, ...] = (layers_beside_pyg.beside_pyg, layers_beside_pyg.compiled)
    results = []
    for name in ("cora_ml", "pubmed"):
        for measured in ways:
            if (row := measured(name, data_folder(), options.repeats)) is not None:
                results.append(row)
                print(row, file=sys.stderr, flush=True)
    return results


def data_folder() -> str:
    root = os.environ.get("KAPPAGCN_DATA")
    if not root:
        raise SystemExit("expected KAPPAGCN_DATA to name the folder with cora_ml.npz and pubmed.npz, found it unset")
    return root


def measure(options: argparse.Namespace) -> dict[str, Any]:
    root = data_folder()
    torch.set_num_threads(options.threads)
    results: list[dict[str, Any]] = []
    for run in (lambda: real("cora_ml", root, options.repeats), lambda: real("pubmed", root, options.repeats)):
        results.append(run())
        print(results[-1], file=sys.stderr, flush=True)
    for measured in (large, sleeping):
        results.append(measured(options.repeats))
        print(results[-1], file=sys.stderr, flush=True)
    for name in ("cora_ml", "pubmed"):
        results.append(drop_in(name, root, options.repeats))
        print(results[-1], file=sys.stderr, flush=True)
    results += beside_pyg(options)
    for nodes in GROWING:
        anywhere, before, peak = alone("--grown", str(nodes))
        near = alone("--grown", str(nodes), "--reach", str(REACH))[0]
        row = {"case": "growth", "nodes": nodes, "edges": 5 * nodes, "anywhere": anywhere, "near": near}
        results.append({**row, "gib": peak - before, "data_gib": before})
        print(results[-1], file=sys.stderr, flush=True)
    (peak,), (imports,) = alone("--pubmed", root), alone("--imports")
    results.append({"case": "memory", "gib": peak, "imports_gib": imports})
    results += error_by_radius()
    return {"threads": options.threads, "repeats": options.repeats, "results": results}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=41)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", action="store_true", help="measure precision alone, keep the rest of the record")
    parser.add_argument("--beside", action="store_true", help="measure layers beside PyG's and torch.compile alone")
    parser.add_argument("--grown", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--reach", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--large", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--pubmed", help=argparse.SUPPRESS)
    parser.add_argument("--imports", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.grown:
        grown(options.grown, options.reach)
    elif options.large:
        times = large(options.large)["seconds"]
        print(times["κ = −1"], times["κ = +1"], times["own GCN"])
    elif options.pubmed:
        pubmed_memory(options.pubmed)
    elif options.imports:
        print(peak_gib())
    else:
        if options.precision or options.beside:
            kept = record.load("layers")
            rows = error_by_radius() if options.precision else beside_pyg(options)
            cases = {row["case"] for row in rows}
            record.save(
                "layers", {**kept, "results": [r for r in kept["results"] if r["case"] not in cases] + rows}, PACKAGES
            )
        else:
            record.save("layers", measure(options), PACKAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
