"""Speed and memory of the geometry beside geoopt: forward and backward, one process, runs interleaved.

    python benchmarks/geometry.py         measures, keeps records/geometry.json

Times are medians; the ratio is geoopt's median over ours. Memory is the largest sum of live allocations of torch's
allocator during one forward and backward, above what was allocated before.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator

import geoopt
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity

import kappagcn.geometry as G
import record
from timing import medians

N, D = 200_000, 16
MIDPOINTS = 2000
PAIRS, PAIR_DIM = 1365, 10
CPU = ProfilerActivity.CPU
Run = Callable[[], None]


def backward(f: Callable[..., Tensor], *leaves: Tensor) -> Run:
    def run() -> None:
        for leaf in leaves:
            leaf.grad = None
        f().sum().backward()

    return run


def cases(kappa: float) -> dict[str, tuple[Run, Run]]:
    """Ours and geoopt's for each operation, κ trained in both."""
    generator = torch.Generator().manual_seed(0)
    theirs = geoopt.Stereographic(k=kappa, learnable=True)
    k = torch.tensor(kappa, requires_grad=True)
    draw = lambda *shape: (0.1 * torch.randn(*shape, generator=generator)).requires_grad_()  # noqa: E731
    x, y = draw(N, D), draw(N, D)
    many, few = draw(MIDPOINTS, D), draw(PAIRS, PAIR_DIM)
    weights = torch.rand(MIDPOINTS, MIDPOINTS, generator=generator)
    rows = many.unsqueeze(0)
    pairs = {
        "add": (lambda: G.add(x, y, k=k), lambda: theirs.mobius_add(x, y)),
        "expmap": (lambda: G.expmap(x, y, k=k), lambda: theirs.expmap(x, y)),
        "logmap": (lambda: G.logmap(x, y, k=k), lambda: theirs.logmap(x, y)),
        "dist": (lambda: G.dist(x, y, k=k), lambda: theirs.dist(x, y)),
        "midpoint": (
            lambda: G.midpoint(many, weights, k=k),
            lambda: theirs.weighted_midpoint(rows, weights, reducedim=[1]),
        ),
        "cdist": (lambda: G.cdist(few, few, k=k), lambda: theirs.dist(few.unsqueeze(1), few.unsqueeze(0))),
    }
    leaves = [x, y, many, few, k, theirs.k]
    return {name: (backward(ours, *leaves), backward(peer, *leaves)) for name, (ours, peer) in pairs.items()}


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Nothing on standard error, where the profiler's libraries announce themselves."""
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def peak_memory(run: Run) -> int:
    """Largest sum of allocations alive while it runs, in bytes."""
    run()
    with silenced(), torch.profiler.profile(activities=[CPU], profile_memory=True) as profile:
        run()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    steps = [e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())]
    return max(itertools.accumulate(steps))


SIZES = dict.fromkeys(("add", "expmap", "logmap", "dist"), f"{N:,} × {D}") | {
    "midpoint": f"{MIDPOINTS} × {MIDPOINTS} weights, D = {D}",
    "cdist": f"N = M = {PAIRS}, D = {PAIR_DIM}",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results: list[dict[str, float | str]] = []
    for kappa in (-1.0, 1.0):
        for name, (ours, peer) in cases(kappa).items():
            slow = name in ("midpoint", "cdist")
            repeats = max(5, options.repeats // 3) if slow else options.repeats
            a, b = medians({"ours": ours, "geoopt": peer}, repeats).values()
            result: dict[str, float | str] = {
                "case": name,
                "kappa": kappa,
                "ms": 1e3 * a,
                "ms_geoopt": 1e3 * b,
                "ratio": b / a,
            }
            if slow:
                result |= {"memory": peak_memory(ours), "memory_geoopt": peak_memory(peer)}
            results.append(result)
            print(f"{name:9} κ = {kappa:+g}: {b / a:.1f} times as fast as geoopt", file=sys.stderr, flush=True)
    record.save("geometry", {"threads": options.threads, "repeats": options.repeats, "results": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
