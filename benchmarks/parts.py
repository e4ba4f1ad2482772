"""Graphs in parts: cost of cutting, and of training with one part in memory, from 10⁴ nodes to 2·10⁷; docs/growing.md.

python benchmarks/parts.py FOLDER    (needs 25 GB there; steps that are done are not repeated)
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
from pathlib import Path
from typing import Any

import growing_page
import record
from large_graph import write

PARTS, SPACE, FEATURES, CLASSES = 8, "H16(-0.1)", 16, 10
SIZES = [
    (10**4, 10**5),
    (10**5, 10**6),
    (10**6, 10**7),
    (10**6, 2 * 10**7),
    (10**7, 10**8),
    (2 * 10**7, 2 * 10**8),
]
EPOCHS = 1


def measured(command: list[str]) -> dict[str, float]:
    """Seconds of a command by the clock, of the processor and of the system in it, and the most memory it had."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=sys.stderr)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: exit status {status}")
    seconds = {"clock": time.perf_counter() - start, "processor": usage.ru_utime + usage.ru_stime}
    seconds["system"] = usage.ru_stime
    return {**seconds, "peak_bytes": usage.ru_maxrss * 1024}


def generate(folder: Path, nodes: int, edges: int) -> dict[str, Any]:
    write(folder, nodes, edges, FEATURES, CLASSES)
    return {}


def cut(folder: Path, nodes: int, edges: int) -> dict[str, Any]:
    command = ["-m", "kappagcn", "data", "partition", str(folder / "graph.npy"), "--parts", str(PARTS)]
    result = measured([sys.executable, *command, "--out", str(folder / "parts")])
    about = json.loads((folder / "parts" / "partition.json").read_text())
    whole = {"method": about["method"], "edges": about["edges"], "cut_share": about["cut_edges"] / about["edges"]}
    largest = {key: max(each[key] for each in about["summary"]) for key in ("own", "halo", "entries")}
    size = sum(file.stat().st_size for file in (folder / "parts").rglob("*") if file.is_file())
    return {**result, **whole, **largest, "disk_bytes": size}


def train(folder: Path, nodes: int, edges: int) -> dict[str, Any]:
    command = [sys.executable, __file__, str(folder), "--worker"]
    result = measured(command)
    return {**result, **json.loads((folder / "epochs.json").read_text())}


def worker(folder: Path) -> None:
    """Train on all parts in turn, in one process and one thread."""
    import torch

    from kappagcn.models import KappaGCN
    from kappagcn.training.part_fitting import evaluate_parts, fit_parts, part_files
    from kappagcn.training.settings import TrainingSettings
    from kappagcn.training.trainer import seeded

    torch.set_num_threads(1)
    with seeded(0):
        model = KappaGCN(FEATURES, CLASSES, SPACE, output="midpoint")
    start = time.process_time()
    with (
        tempfile.TemporaryDirectory(dir=folder) as scratch,
        part_files(model, folder / "parts", scratch=scratch) as task,
    ):
        result = fit_parts(model, task, TrainingSettings(epochs=EPOCHS, patience=EPOCHS, lr=0.05))
        trained = time.process_time()
        test = evaluate_parts(task)
        seconds = {"epoch_processor": (trained - start) / EPOCHS, "evaluation_processor": time.process_time() - trained}
    loss = {"train_loss": result.history[-1]["train_loss"], "test_loss": test["loss"], "accuracy": test["accuracy"]}
    peak = {"worker_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    (folder / "epochs.json").write_text(json.dumps({**seconds, **loss, **peak}))


STEPS = {"generate": generate, "cut": cut, "train": train}


def step(name: str, folder: Path, nodes: int, edges: int) -> dict[str, Any]:
    """The result of a step, from its file if it was done before."""
    path = folder / f"step-{name}.json"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(STEPS[name](folder, nodes, edges)))
    result: dict[str, Any] = json.loads(path.read_text())
    return result


def main(root: Path, only_done: bool) -> int:
    rows = []
    for nodes, edges in SIZES:
        folder = root / f"{nodes}-{edges}"
        for name in STEPS:
            if only_done and not (folder / f"step-{name}.json").is_file():
                continue
            result = step(name, folder, nodes, edges)
            if result:
                rows.append({"case": name, "nodes": nodes, "drawn_edges": edges, **result})
                print(json.dumps(rows[-1]), flush=True)
    settings = {"parts": PARTS, "space": SPACE, "features": FEATURES, "classes": CLASSES, "epochs": EPOCHS}
    record.save("parts", {**settings, "results": rows}, ("torch", "numpy", "scipy", "numba", "kappagcn"))
    growing_page.PAGE.write_text(growing_page.page(record.load("growing")))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--worker", action="store_true", help="Train on the parts of a folder; what the steps call.")
    parser.add_argument("--done", action="store_true", help="Write the record of the steps that are done.")
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments.folder)
    else:
        sys.exit(main(arguments.folder, arguments.done))
