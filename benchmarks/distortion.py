"""An epoch of embedding the paper's tree beside geoopt on broadcast points: time, memory, one process, interleaved.

    python benchmarks/distortion.py         measures, keeps records/distortion.json

An epoch is forward, backward, and a step of Adam for the points and of gradient descent for the curvature. Times are
medians; memory is the largest resident size during an epoch above that before it, read every millisecond. An epoch of
a product is compared with the loss and gradients of its factors alone.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import geoopt
import numpy as np
import torch
from torch import Tensor

import record
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import distortion, pair_sums
from kappagcn.graphs import load_graph, shortest_paths
from kappagcn.kernels.dispatch import torch_only
from kappagcn.kernels.threads import threads_for
from kappagcn.models import FreePoints
from kappagcn.nn.inputs import factors_of
from kappagcn.training.trainer import seeded
from timing import medians

GRAPH = "tree"
PRODUCT, FACTORS = "H5xS5", ("H5", "S5")
RADII = (0.1, 1.0)  # spread of the points: near the origin as at the start of training, and as at its end
PAGE = 4096
Epoch = Callable[[], float]


def arsinc(z: Tensor, kappa: float) -> Tensor:
    root = (z.abs() + 1e-30).sqrt()
    return (torch.asinh(root) if kappa < 0 else torch.asin(root.clamp(max=1 - 1e-6))) / root


def haversine(v: Tensor, k: Tensor, weights: Tensor, kappa: float) -> Tensor:
    """The same formula as plain tensors of size N × N, for torch.compile to fuse."""
    root = k.abs().sqrt()
    length = v.norm(dim=1)
    u, r = v / length[:, None], 2 * length
    sine = torch.sinh if kappa < 0 else torch.sin
    turn = sine(root * (r[:, None] - r[None]) / 2) / root
    wide = sine(root * r) / root
    gap = (u[:, None] - u[None]).square().sum(-1)
    s = turn.square() + wide[:, None] * wide[None] * gap / 4
    squares = 4 * s * arsinc(k * s, kappa).square()
    return torch.where(weights > 0, squares * weights - 1, 0).square().sum() / len(v) ** 2


def points_of(space: str, spread: float, n: int) -> FreePoints:
    """The first columns of the same random points in each space."""
    with seeded(0):
        start = spread * torch.randn(n, 10)
    free = FreePoints(n, space)
    free.points.data.copy_(start[:, : free.points.shape[1]])
    return free


def epoch_of(loss: Callable[[], Tensor], points: Tensor, curvatures: Sequence[Tensor]) -> Epoch:
    adam = torch.optim.Adam([points], lr=0.0, fused=True)  # the points stay, so all epochs are the same

    def run() -> float:
        points.grad = None
        for k in curvatures:
            k.grad = None
        value = loss()
        value.backward()
        with threads_for(points.numel()):  # for all of them: more threads take longer
            adam.step()
        with torch.no_grad():
            for k in curvatures:
                k.sub_(0.0 * k.grad)
        return float(value.detach())

    return run


def own_epoch(free: FreePoints, distances: GraphDistances, *, by_torch: bool = False) -> Epoch:
    context = torch_only if by_torch else nullcontext

    def loss() -> Tensor:
        with context():
            return distortion(free(), free.manifold, distances)

    return epoch_of(loss, free.points, [factor.curvature.raw for factor in free.manifold.factors])


def contenders(space: str, spread: float, distances: GraphDistances, lengths: Tensor) -> dict[str, Epoch]:
    """An epoch by each of them, from the same points."""
    kappa, n = -1.0 if space.startswith("H") else 1.0, len(lengths)
    start = points_of(space, spread, n).points.detach().float()
    apart = lengths.clone().fill_diagonal_(1)
    diagonal = torch.eye(n, dtype=torch.bool)
    ball = geoopt.Stereographic(k=kappa, learnable=True)
    x = torch.nn.Parameter(ball.expmap0(start).detach().clone())

    def theirs() -> Tensor:
        d = ball.dist(x.unsqueeze(1), x.unsqueeze(0))
        return ((d / apart) ** 2 - 1).square().masked_fill(diagonal, 0).sum() / len(x) ** 2

    v, k = torch.nn.Parameter(start.clone()), torch.nn.Parameter(torch.tensor(kappa))
    fused = torch.compile(haversine)
    return {
        "compiled": own_epoch(points_of(space, spread, n), distances),
        "geoopt": epoch_of(theirs, x, [ball.k]),
        "torch": own_epoch(points_of(space, spread, n), distances, by_torch=True),
        "torch.compile": epoch_of(lambda: fused(v, k, distances.weights, kappa), v, [k]),
    }


def pair_loop(space: str, spread: float, distances: GraphDistances) -> Epoch:
    """The loss and its gradients by points and κ, without the rest of an epoch."""
    free = points_of(space, spread, len(distances))
    k, dims = factors_of(free.points, free.manifold)
    return lambda: pair_sums(free.points, k, dims, distances, "distortion", slopes=True)[0]


def products(distances: GraphDistances, repeats: int) -> list[dict[str, Any]]:
    """Epochs of a product beside the pairs of its factors."""
    rows = []
    for spread in RADII:
        runs = {PRODUCT: own_epoch(points_of(PRODUCT, spread, len(distances)), distances)}
        runs |= {space: pair_loop(space, spread, distances) for space in FACTORS}
        median = medians(runs, repeats)
        ratio = median[PRODUCT] / sum(median[space] for space in FACTORS)
        rows.append({"spread": spread, "ms": {name: 1e3 * time for name, time in median.items()}, "ratio": ratio})
        print(f"{PRODUCT}, points {spread:g} wide: {ratio:.2f} times the pairs of its factors", file=sys.stderr)
    return rows


def bound(pairs: int, threads: int) -> float:
    """Seconds for the least arithmetic of all pairs, by NumPy's vector code on float64 numbers in the first cache.

    That is a square root, a division, and an exponential in place of the logarithm or arc tangent.
    """
    x = np.random.default_rng(0).random(1024) + 0.5
    out, repeats, total = np.empty_like(x), 2000, 0.0
    for function in (np.sqrt, np.exp, np.reciprocal):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(repeats):
                function(x, out=out)
            times.append(time.perf_counter() - start)
        total += min(times) / (repeats * len(x))
    return pairs * total / threads


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def peak_memory(run: Epoch) -> int:
    """How far the resident size grows during an epoch."""
    run()
    ctypes.CDLL(None).malloc_trim(0)  # so that no memory which an earlier epoch freed is used without being seen
    before, most, over = resident(), [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.001):
            most[0] = max(most[0], resident() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    run()
    over.set()
    watcher.join()
    return most[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    graph = load_graph(GRAPH)
    lengths = shortest_paths(graph).float()
    distances = GraphDistances(lengths)
    results: list[dict[str, Any]] = []
    compile_seconds = 0.0
    least = bound(len(lengths) * (len(lengths) - 1) // 2, options.threads)
    for space in ("H10", "S10"):
        for spread in RADII:
            runs = contenders(space, spread, distances, lengths)
            losses = {method: run() for method, run in runs.items() if method != "torch.compile"}
            start = time.perf_counter()
            losses["torch.compile"] = runs["torch.compile"]()
            compile_seconds = max(compile_seconds, time.perf_counter() - start)
            median = medians(runs | {"pairs": pair_loop(space, spread, distances)}, options.repeats)
            median |= medians({"again": runs["compiled"]}, options.repeats)  # follows its like, as in training
            for method, run in runs.items():
                results.append(
                    {
                        "space": space,
                        "spread": spread,
                        "who": method,
                        "ms": 1e3 * median[method],
                        "ratio": median["geoopt"] / median[method],
                        "memory": peak_memory(run),
                        "loss": losses[method],
                    }
                    | (
                        {"pairs_ms": 1e3 * median["pairs"], "again_ms": 1e3 * median["again"]}
                        if method == "compiled"
                        else {}
                    )
                )
            times_as_fast = median["geoopt"] / median["compiled"]
            print(
                f"{space}, points {spread:g} wide: {times_as_fast:.0f} times as fast as geoopt, "
                f"{median['again'] / least:.1f} times the bound of {1e3 * least:.1f} ms after an epoch of its own, "
                f"{median['compiled'] / least:.1f} after others",
                file=sys.stderr,
            )
    about = {
        "products": products(distances, options.repeats),
        "threads": options.threads,
        "repeats": options.repeats,
        "compile_seconds": compile_seconds,
        "bound_ms": 1e3 * least,
    }
    record.save("distortion", {**about, "results": results}, (*record.PEERS, "numba"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
