"""The tests under other instruction sets, by two threads, in other orders, shaken: docs/portability.md.

python benchmarks/portable.py                          every row that this processor can run
python benchmarks/portable.py --row avx2 --row native  some rows; the others stay in the record as they are
python benchmarks/portable.py --row generic tests/nn   some tests only, which the record does not keep
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import record
from kappagcn.paper.machine import processor

ROOT = Path(__file__).parent.parent
PACKAGES = ("torch", "numpy", "scipy", "torch_geometric", "numba", "pytest", "hypothesis", "kappagcn")


@dataclass(frozen=True)
class Row:
    """One way to run the tests."""

    what: str
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # what torch must find in the processor

    @property
    def processes(self) -> int:
        """Number of processes that keep the cores busy."""
        return max(1, (os.cpu_count() or 1) // int(self.environment.get("OMP_NUM_THREADS", "1")))


def shuffled(seed: int) -> tuple[str, ...]:
    """Another order of the tests; rows have one each, because a run for the order alone would show nothing more."""
    return (f"--random-order-seed={seed}",)


GENERIC = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "NUMBA_CPU_NAME": "generic"}
ROWS = {
    "native": Row("as `make test` runs them"),
    "generic": Row("instructions that every x86-64 processor has", GENERIC),
    "avx2": Row("AVX2", {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2"}, shuffled(1), ("AVX2", "AVX512")),
    "avx512": Row("AVX-512", {"ATEN_CPU_CAPABILITY": "avx512", "MKL_CBWR": "AVX512"}, shuffled(2), ("AVX512",)),
    "threads": Row("two threads", {"OMP_NUM_THREADS": "2"}),
    "shaken": Row("random numbers off by a millionth, as in `make shaken`", options=("--shaken=1",)),
}


def possible() -> list[str]:
    """Rows that this processor can run."""
    native = torch.backends.cpu.get_cpu_capability()
    return [name for name, row in ROWS.items() if not row.needs or native in row.needs]


def run(name: str, paths: list[str], cache: Path) -> dict[str, Any]:
    """The tests once. What numba compiles is kept by instruction set in `cache`, which rows share."""
    row = ROWS[name]
    with tempfile.TemporaryDirectory(prefix=f"kappagcn-{name}-") as scratch:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **row.environment, "NUMBA_CACHE_DIR": str(cache)}
        command = [sys.executable, "-m", "pytest", "--quiet", f"--junitxml={scratch}/tests.xml", *row.options, *paths]
        if row.processes > 1:
            command += ["--numprocesses", str(row.processes), "--dist", "worksteal"]
        print(f"{name}: {row.what}; {settings(row)}", flush=True)
        start = time.perf_counter()
        subprocess.run(command, cwd=ROOT, env=environment)
        seconds = round(time.perf_counter() - start)
        return {"row": name, **counted(Path(scratch, "tests.xml")), "seconds": seconds, "settings": settings(row)}


def settings(row: Row) -> str:
    """Environment and options as a shell takes them."""
    words = [f"{name}={value}" for name, value in row.environment.items()]
    return " ".join([*words, *row.options]) or "none"


def counted(report: Path) -> dict[str, Any]:
    """Numbers of tests by how they ended, and the names of those that failed."""
    if not report.exists():
        raise SystemExit("expected a report of the tests, found none: pytest did not get as far as that")
    (suite,) = ET.parse(report).getroot().iter("testsuite")
    tests, errors, failures, skipped = (int(suite.get(k, 0)) for k in ("tests", "errors", "failures", "skipped"))
    failed = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in suite.iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    ]
    return {"passed": tests - errors - failures - skipped, "failed": failed, "skipped": skipped}


def kept() -> dict[str, dict[str, Any]]:
    """Rows of the record by name; none where there is no record yet."""
    if not (record.RECORDS / "portable.json").exists():
        return {}
    return {r["row"]: r for r in record.load("portable")["results"]}


def keep(result: dict[str, Any]) -> None:
    """Put a row into the record, in the place of an older one of that name, and write the page anew."""
    about = record.provenance(PACKAGES)
    result = {**result, "processor": processor(), "python": about["python"], "versions": about["versions"]}
    rows = {**kept(), result["row"]: result}
    record.save("portable", {"results": [rows[name] for name in ROWS if name in rows]}, PACKAGES)


def show(results: list[dict[str, Any]]) -> None:
    print(f"\n{'row':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for r in results:
        print(f"{r['row']:<10}{r['passed']:>8}{len(r['failed']):>8}{r['skipped']:>9}{r['seconds']:>9}")
    for r in results:
        for name in r["failed"]:
            print(f"{r['row']}: {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", action="append", choices=possible(), help="all of them by default")
    parser.add_argument("paths", nargs="*", help="tests to run; all, which are kept, by default")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="kappagcn-numba-") as cache:
        for name in arguments.row or possible():
            results.append(run(name, arguments.paths, Path(cache)))
            if not arguments.paths:
                keep(results[-1])
    show(results)
    return int(any(r["failed"] for r in results))


if __name__ == "__main__":
    sys.exit(main())
