"""Where the time of one training step of the κ-GCN goes, as a record and a picture of nested calls.

    KAPPAGCN_DATA=... python benchmarks/profile_step.py    measures, keeps records/profile_step.json, draws
                                                           docs/images/profile-step.svg
    python benchmarks/profile_step.py --draw               the picture from the record, without measuring

The step is that of benchmarks/layers.py on Cora-ML with κ = −1, one thread. Python reports each call and return, which
makes small calls look longer than they are; C++ code of torch between Python calls counts to its caller.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import torch

import record

PACKAGES = ("torch", "numba", "kappagcn")
STEPS, NETWORK, GRAPH = 200, "κ = −1", "cora_ml"
WIDTH, ROW, LEAST = 1160, 26, 0.006  # pixels; share of the step below which a call is not drawn
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
COLOURS = {"compiled": "#7fb3e6", "product": "#f0b46c", "torch": "#c9ced6", "python": "#e9e3d5"}
MEANINGS = {
    "compiled": "compiled loops",
    "product": "sparse products",
    "torch": "torch",
    "python": "Python of this package",
}
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


def total(saved: dict[str, Any], chosen: Callable[[Stack], bool] = lambda _: True) -> float:
    """Seconds of a step in the stacks chosen."""
    return sum(r["seconds"] for r in saved["results"] if chosen(tuple((n, k) for n, k in r["calls"])))


def share(saved: dict[str, Any], kind: str) -> float:
    """Share of the step in which the innermost call is of this kind."""
    return total(saved, lambda stack: stack[-1][1] == kind) / total(saved)


def boxes(saved: dict[str, Any]) -> list[tuple[int, float, float, str, str]]:
    """Depth, begin and end as shares of the step, name and kind of each call, callers above what they call."""
    widths: dict[Stack, float] = defaultdict(float)
    for row in saved["results"]:
        stack = tuple((name, kind) for name, kind in row["calls"])
        for depth in range(1, len(stack) + 1):
            widths[stack[:depth]] += row["seconds"] / total(saved)
    begins: dict[Stack, float] = {(): 0.0}
    drawn = []
    for stack in sorted(widths, key=lambda own: (len(own), -widths[own])):
        begin = begins[stack[:-1]]
        begins[stack[:-1]], begins[stack] = begin + widths[stack], begin
        if widths[stack] >= LEAST:
            drawn.append((len(stack) - 1, begin, begin + widths[stack], *stack[-1]))
    return drawn


def picture(saved: dict[str, Any]) -> str:
    """The calls as an SVG of nested boxes whose widths are times."""
    calls, whole = boxes(saved), 1e3 * total(saved)
    height = ROW * (max(depth for depth, *_ in calls) + 1) + 2 * ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 20} {height}" font-family="sans-serif" '
        f'font-size="13"><rect width="100%" height="100%" fill="#ffffff"/>'
    ]
    for depth, begin, end, name, kind in calls:
        x, y, width = 10 + WIDTH * begin, 10 + ROW * depth, WIDTH * (end - begin)
        text = f"{name}, {whole * (end - begin):.2f} ms"
        parts.append(
            f'<g><title>{escape(text)}, {100 * (end - begin):.0f} %</title><rect x="{x:.1f}" y="{y}" '
            f'width="{max(width - 1, 0.5):.1f}" height="{ROW - 2}" rx="2" fill="{COLOURS[kind]}"/>'
        )
        fitting = next((words for words in (text, name) if 7.2 * len(words) + 8 < width), "")
        parts.append(f'<text x="{x + 5:.1f}" y="{y + 17}" fill="#1d2330">{escape(fitting)}</text></g>')
    for n, (kind, meaning) in enumerate(MEANINGS.items()):
        x, y = 10 + 200 * n, height - ROW
        parts.append(f'<rect x="{x}" y="{y}" width="14" height="14" rx="2" fill="{COLOURS[kind]}"/>')
        parts.append(f'<text x="{x + 20}" y="{y + 12}" fill="#1d2330">{meaning}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="draw the record, without measuring")
    if not parser.parse_args().draw:
        root = os.environ.get("KAPPAGCN_DATA")
        if not root:
            raise SystemExit("expected KAPPAGCN_DATA to name the folder with cora_ml.npz, found it unset")
        record.save("profile_step", measure(root), PACKAGES)
    (record.DOCS / "images" / "profile-step.svg").write_text(picture(record.load("profile_step")))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
