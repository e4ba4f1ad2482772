"""Slowdown of training beside a process that keeps one core busy, by how OpenMP's threads wait; docs/busy-core.md.

    python benchmarks/busy_core.py          measures, keeps benchmarks/results/busy_core.json, writes the page from it
    python benchmarks/busy_core.py --docs   docs/busy-core.md from the record, without measuring

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


def page(saved: dict[str, Any]) -> str:
    """docs/busy-core.md."""
    return f"""# Threads beside a busy core

Each parallel operation of torch ends when the last of its OpenMP threads does. As torch starts them, threads that have
nothing to do wait in a busy loop for some milliseconds, so in training, with its small operations, they always run.
Beside another busy process they then get their core in turns only, and every operation waits for a thread whose turn it
is not: milliseconds, for work of microseconds. Threads that sleep leave the core to the other process and are woken
for their share.

- The command line sets `OMP_WAIT_POLICY=PASSIVE` before it loads torch, where the environment does not say otherwise:
  the variable that GNU's, Intel's and LLVM's OpenMP read. MKL inside torch uses the same threads. `--threads 1` does
  without others.
- In Python the estimators give torch one thread while they work on a graph whose arrays have fewer than 2²² numbers
  (features that are not 0, edges, 32 columns for each node), and afterwards as many as before: a second thread gains
  little there. For larger graphs, layers of your own and other code, set the variable before Python starts, or in
  `os.environ` before the first `import torch`; `torch.set_num_threads(1)` helps at any time. The library does not
  change the environment.
- Compiled loops run in torch's own threads, as many as torch uses. Where the estimators give torch one thread, those of
  embeddings have threads of their own, which sleep, and no thread waits for one that has not begun. Where one waited
  for another longer than it worked the next loops do without: 4 the first time, up to 64 where that happens again.
  Threads take blocks of the work as they get to it, and results do not depend on how they wait.

Medians of {saved["rounds"]} rounds, the ratio over neighbouring pairs with its range; all ways in turn on the same
machine. Processor time is that of all threads together. The load of the machine was {saved["load"][0]:.1f} at the
beginning and {saved["load"][1]:.1f} at the end, this benchmark's own included; where that is above the number of cores
there was no quiet core to compare with.

{record.made_with(saved)}

{HEAD}
{chr(10).join(line(r) for r in saved["results"])}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--docs", action="store_true", help="write the page from the record, without measuring")
    options = parser.parse_args()
    if not options.docs:
        load, rows = [os.getloadavg()[0]], []
        print(HEAD)
        for kind in KINDS:
            rows += measure(kind, options.rounds)
            print("\n".join(line(r) for r in rows[-len(WAYS) :]), flush=True)
        load.append(os.getloadavg()[0])
        record.save("busy_core", {"rounds": options.rounds, "load": load, "results": rows}, PACKAGES)
    (record.DOCS / "busy-core.md").write_text(page(record.load("busy_core")))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # so that the busy loop does not outlive it
    main()
