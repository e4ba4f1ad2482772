"""How many functions of the project run, and in how many files: in one call of a layer, and in two commands.

python benchmarks/calls.py layer              one forward and backward pass of KappaGCNConv on H8xS8
python benchmarks/calls.py embed karate       a command, to its fifth epoch of training
python benchmarks/calls.py classify disease
python benchmarks/calls.py layer --verbose    also a line for each function
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

import kappagcn

PACKAGE = f"{Path(kappagcn.__file__).parent}{os.sep}"
EPOCHS = 5
EPOCH = "run_epoch"  # function that trains for one epoch


class Calls:
    """Counts calls of the project's functions, by file and name, as ``sys.setprofile`` sees them."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def count(self, frame: FrameType, event: str, _: object) -> None:
        """Count a call; comprehensions, and the bodies of modules and classes, are no functions."""
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and is_function and code.co_filename.startswith(PACKAGE):
            self.counts[code.co_filename.removeprefix(PACKAGE), code.co_qualname] += 1

    def count_to_epoch(self, frame: FrameType, event: str, argument: object) -> None:
        """Count calls, then report and end the process at the end of the fifth epoch."""
        self.count(frame, event, argument)
        code = frame.f_code
        if event != "return" or code.co_name != EPOCH or not code.co_filename.startswith(PACKAGE):
            return
        if sum(n for (_, name), n in self.counts.items() if name.endswith(EPOCH)) >= EPOCHS:
            sys.setprofile(None)
            self.report()
            os._exit(0)

    def report(self) -> None:
        """Print numbers of calls, functions and modules."""
        if "--verbose" in sys.argv:
            for (file, name), n in self.counts.items():
                print(f"{n:6d}  {file}: {name}")
        files = len({file for file, _ in self.counts})
        print(f"{self.counts.total()} calls, {len(self.counts)} functions, {files} modules", flush=True)


def count_layer(calls: Calls) -> None:
    """One forward and backward pass, after two others."""
    from kappagcn.graphs import disease
    from kappagcn.nn import KappaGCNConv

    data, conv = disease(), KappaGCNConv(10, 16, manifold="H8xS8")
    for profile in (None, None, calls.count):
        sys.setprofile(profile)
        conv(data.x, data.edge_index).square().sum().backward()
        sys.setprofile(None)


def run_command(arguments: list[str], calls: Calls) -> None:
    """A command to its fifth epoch."""
    from kappagcn.cli import app

    with tempfile.TemporaryDirectory() as folder:
        sys.setprofile(calls.count_to_epoch)
        app([*arguments, "--out", f"{folder}/run"])


def main(arguments: list[str]) -> None:
    calls = Calls()
    if arguments == ["layer"]:
        count_layer(calls)
    else:
        run_command(arguments, calls)
    calls.report()


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "--verbose"])
