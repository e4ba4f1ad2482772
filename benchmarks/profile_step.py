"""Where the time of one training step of the κ-GCN goes, as a record and a picture of nested calls.

    KAPPAGCN_DATA=... python benchmarks/profile_step.py    measures, keeps records/profile_step.json

The step is that of benchmarks/layers.py on Cora-ML with κ = −1, one thread. Python reports each call and return, which
makes small calls look longer than they are; C++ code of torch between Python calls counts to its caller.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import record

PACKAGES = ("torch", "numba", "kappagcn")
STEPS, NETWORK, GRAPH = 200, "κ = −1", "cora_ml"
NAMES = {
    "layers.py step": "training step",
    "layers.py forward": "network",
    "conv.py forward": "convolution",
    "conv.py linear": "linear map",
    "matrix.py multiply": "sparse product",
    "midpoints.py backward": "backward of midpoints",
    "adam.py step": "Adam",
    "run_backward": "backward",
    "cross_entropy_loss": "loss",
}
HIDDEN = (
    "blocks.py",
    "buffers.py",
    "team.py",
    "dispatch.py",
    "tracing.py",
    "functional.py",
    "inputs.py",
    "precision.py",
    "message_passing.py",
)
Stack = tuple[tuple[str, str], ...]


def call_of(file: str, name: str) -> tuple[str, str] | None:
    """Name and kind of a Python function, None for those that are counted to their caller."""
    path = Path(file)
    label = NAMES.get(f"{path.name} {name}", name.strip("_").replace("_", " "))
    if name.startswith("<") or path.name in HIDDEN:
        return None
    if path.name == "matrix.py" or path.parent.name == "optim":
        return (label, "product" if path.name == "matrix.py" else "torch") if f"{path.name} {name}" in NAMES else None
    if path.parent.name == "kernels":
        return label, "compiled" if name.strip("_").startswith(("measure", "pack", "lower", "sum_")) else "python"
    return (label, "python") if "kappagcn" in path.parts or path.parent.name == "benchmarks" else None


def measured(step: Callable[[], None], steps: int) -> dict[Stack, float]:
    """Seconds of a step in each stack of calls, without what it calls."""
    seconds: dict[Stack, float] = defaultdict(float)
    known: dict[Any, tuple[str, str] | None] = {}
    stacks: list[Stack] = [()]
    last = time.perf_counter()

    def watch(frame: Any, event: str, argument: Any) -> None:
        nonlocal last
        seconds[stacks[-1]] += time.perf_counter() - last
        if event == "call":
            code = frame.f_code
            if code not in known:
                known[code] = call_of(code.co_filename, code.co_name)
            call = known[code]
            stacks.append(stacks[-1] if call is None else (*stacks[-1], call))
        elif event == "c_call":
            name = argument.__name__
            stacks.append((*stacks[-1], (NAMES[name], "torch")) if name in NAMES else stacks[-1])
        elif len(stacks) > 1:
            stacks.pop()
        last = time.perf_counter()

    sys.setprofile(watch)
    try:
        for _ in range(steps):
            step()
    finally:
        sys.setprofile(None)
    return {own: spent / steps for own, spent in seconds.items() if own and own[0][0] == "training step"}


def measure(root: str) -> dict[str, Any]:
    import layers  # which imports this module for its page

    torch.set_num_threads(1)
    step = layers.real_steps(GRAPH, root)[NETWORK]
    for _ in range(50):
        step()
    times = measured(step, STEPS)
    rows = [{"calls": [list(call) for call in stack], "seconds": seconds} for stack, seconds in sorted(times.items())]
    return {"graph": GRAPH, "network": NETWORK, "steps": STEPS, "results": rows}


def main() -> int:
    root = os.environ.get("KAPPAGCN_DATA")
    if not root:
        raise SystemExit("expected KAPPAGCN_DATA to name the folder with cora_ml.npz, found it unset")
    record.save("profile_step", measure(root), PACKAGES)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
