"""Slowdown of training beside a process that keeps one core busy, by how OpenMP's threads wait.

    python benchmarks/busy_core.py          measures, keeps records/busy_core.json

Each way of waiting has a process of its own. They fit in turn, once without and once with a busy loop beside them, so
that all see the same machine; ratios are medians over neighbouring pairs.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import record

WAYS = {"spinning": "spin (torch alone)", "sleeping": "sleep (command line)", "one": "one thread"}
KINDS = {
    "tree": "embed `tree`, H10",
    "disease": "classify `disease`, H16",
    "karate": "embed `karate`, H2",
    "large": "classify 20,000 random nodes, 64 features, H16",
}
PACKAGES = ("torch", "numba", "kappagcn")
Pair = tuple[list[float], list[float]]


def work(kind: str) -> Callable[[], Any]:
    """A function that fits once, in about half a second."""
    from kappagcn.classification.classifier import KappaGCNClassifier
    from kappagcn.embedding.embedder import GraphEmbedder
    from kappagcn.graphs import load_graph

    options: dict[str, Any] = {"verbose": False}
    if kind in ("disease", "large"):
        graph, epochs = (load_graph(kind), 100) if kind == "disease" else (random_graph(), 5)
        return lambda: KappaGCNClassifier("H16", epochs=epochs, patience=epochs, **options).fit(graph)
    graph, space, epochs = load_graph(kind), *(("H10", 30) if kind == "tree" else ("H2", 200))
    return lambda: GraphEmbedder(space, epochs=epochs, **options).fit(graph)


def random_graph(nodes: int = 20_000) -> Any:
    import torch
    from torch_geometric.data import Data

    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(nodes, (2, 5 * nodes), generator=generator)
    x = torch.randn(nodes, 64, generator=generator)
    return Data(x, torch.cat([edges, edges.flip(0)], 1), y=torch.randint(7, (nodes,), generator=generator))


def child(kind: str) -> None:
    """Fit once for each line of standard input, and print the seconds it took and those of the processor."""
    fit = work(kind)
    fit()  # compiles
    print("ready", flush=True)
    for _ in sys.stdin:
        start, used = time.perf_counter(), time.process_time()
        fit()
        print(time.perf_counter() - start, time.process_time() - used, flush=True)


def start(code: str, threads: int | None = None) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "KMP_", "MKL_"))}
    environment = kept if threads is None else {**kept, "OMP_NUM_THREADS": str(threads)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    options = {"cwd": Path(__file__).parent, "start_new_session": True}  # Linux shares cores among sessions
    return subprocess.Popen([sys.executable, "-c", code], env=environment, **options, **pipes)


def fitted(process: subprocess.Popen[str]) -> list[float]:
    """Seconds of one fit, and of the processor for it."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return [float(word) for word in process.stdout.readline().split()]


def measure(kind: str, rounds: int) -> list[dict[str, Any]]:
    """A row for each way of waiting."""
    loop = start("while True: pass")
    loop.send_signal(signal.SIGSTOP)
    fits = f"import busy_core; busy_core.child({kind!r})"  # which loads torch
    ways = {
        "spinning": start(fits),
        "sleeping": start(f"from kappagcn.cli.app import wait_passively; wait_passively(); {fits}"),
        "one": start(fits, threads=1),
    }
    try:
        for process in ways.values():
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        pairs: dict[str, list[Pair]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, process in ways.items():
                quiet = fitted(process)
                loop.send_signal(signal.SIGCONT)
                busy = fitted(process)
                loop.send_signal(signal.SIGSTOP)
                pairs[way].append((quiet, busy))
    finally:
        for process in [loop, *ways.values()]:
            process.kill()
            process.communicate()
    return [row(kind, way, each) for way, each in pairs.items()]


def row(kind: str, way: str, pairs: list[Pair]) -> dict[str, Any]:
    ratios = [busy[0] / quiet[0] for quiet, busy in pairs]
    return {
        "work": kind,
        "waiting": way,
        "seconds": round(median(quiet[0] for quiet, _ in pairs), 4),
        "seconds_busy": round(median(busy[0] for _, busy in pairs), 4),
        "ratio": round(median(ratios), 3),
        "ratios": [round(min(ratios), 3), round(max(ratios), 3)],
        "processor_seconds": round(median(quiet[1] for quiet, _ in pairs), 4),
        "processor_seconds_busy": round(median(busy[1] for _, busy in pairs), 4),
    }


def line(r: dict[str, Any]) -> str:
    low, high = r["ratios"]
    return (
        f"| {KINDS[r['work']]} | {WAYS[r['waiting']]} | {r['seconds']:.2f} s | {r['seconds_busy']:.2f} s | "
        f"{r['ratio']:.2f} ({low:.2f} to {high:.2f}) | {r['processor_seconds']:.2f} s | "
        f"{r['processor_seconds_busy']:.2f} s |"
    )


HEAD = """| work | threads | time | beside a busy core | ratio | processor | processor, busy |
|---|---|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    load, rows = [os.getloadavg()[0]], []
    print(HEAD)
    for kind in KINDS:
        rows += measure(kind, options.rounds)
        print("\n".join(line(r) for r in rows[-len(WAYS) :]), flush=True)
    load.append(os.getloadavg()[0])
    record.save("busy_core", {"rounds": options.rounds, "load": load, "results": rows}, PACKAGES)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # so that the busy loop does not outlive it
    main()
