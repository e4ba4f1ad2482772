"""How soon a command starts, and how soon a large graph is in memory.

    python benchmarks/data_in.py          measures, keeps records/data_in.json

Each row is a process of its own: its seconds by the clock, its seconds of the processor, which other processes of the
machine do not lengthen much, and the most memory that it held. The least of several rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import record

NODES, EDGES = 1_000_000, 10_000_000
FEATURES, CLASSES = 16, 4
PACKAGES = ("torch", "torch_geometric", "pyarrow", "scipy", "kappagcn")
COMMANDS = {
    "torch": (["-c", "import torch"], "`import torch`, for comparison"),
    "help": (["-m", "kappagcn", "--help"], "`kappagcn --help`"),
    "info": (["-m", "kappagcn", "info", "karate"], "`kappagcn info karate`"),
    "embed": (["-m", "kappagcn", "embed", "karate", "--epochs", "1"], "`kappagcn embed karate --epochs 1`"),
}
MOST = {"help": 0.3, "info": 1.0, "embed": 2.0}  # seconds
FILES = {
    "integers.csv": "CSV, nodes are integers",
    "integers.txt": "text as SNAP has it: tabs and comments",
    "names.csv": "CSV, nodes are words, with weights",
    "integers.parquet": "Parquet",
    "folder": "folder of mapped arrays",
}
ON_FOLDER = {
    "info-folder": (["info", "folder"], "`kappagcn info folder`"),
    "classify-folder": (
        ["classify", "folder", "--space", "H16", "--epochs", "1", "--set", "no-baselines=true", "--out", "classified"],
        "`kappagcn classify folder --space H16 --epochs 1 --set no-baselines=true`",
    ),
    "embed-folder": (
        ["embed", "folder", "--space", "H2", "--epochs", "1", "--out", "embedded"],
        "`kappagcn embed folder --space H2 --epochs 1`",
    ),
    "link-folder": (
        ["link", "folder", "--space", "H16", "--epochs", "1", "--out", "linked"],
        "`kappagcn link folder --space H16 --epochs 1`",
    ),
}
READ = """
import json, resource, sys, time
from kappagcn.graphs import read_graph
begin, used = time.perf_counter(), time.process_time()
read_graph(sys.argv[1])
row = {"seconds": time.perf_counter() - begin, "processor_seconds": time.process_time() - used}
row["gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
json.dump({name: round(value, 3) for name, value in row.items()}, open(sys.argv[2], "w"))
"""
WRITE = "import data_in, pathlib, sys; data_in.write_files(pathlib.Path(sys.argv[1]))"


def run(arguments: list[str]) -> dict[str, float]:
    """Seconds, processor seconds and GiB of a process."""
    begin = time.perf_counter()
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, *arguments],
        {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80"},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    _, status, usage = os.wait4(process, 0)
    assert status == 0, arguments
    return {
        "seconds": round(time.perf_counter() - begin, 3),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 3),
        "gib": round(usage.ru_maxrss / 2**20, 3),
    }


def least(arguments: list[str], rounds: int) -> dict[str, float]:
    runs = [run(arguments) for _ in range(rounds)]
    return {name: min(each[name] for each in runs) for name in runs[0]}


def read(file: Path, result: Path) -> dict[str, float]:
    """Seconds and memory of reading a graph, without the imports."""
    subprocess.run([sys.executable, "-c", READ, str(file), str(result)], check=True)
    row: dict[str, float] = json.loads(result.read_text())
    return row


def write_files(folder: Path) -> None:
    """The same random edges in every form."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import torch
    from pyarrow import csv

    from kappagcn.graphs import read_graph, save_graph

    rng = np.random.default_rng(0)
    ends = {name: pa.array(rng.integers(0, NODES, EDGES)) for name in ("source", "target")}
    table = pa.table(ends)
    plain = csv.WriteOptions(quoting_style="none")
    csv.write_csv(table, folder / "integers.csv", plain)
    content = (folder / "integers.csv").read_bytes().split(b"\n", 1)[1].replace(b",", b"\t")
    (folder / "integers.txt").write_bytes(b"# Directed graph\n# FromNodeId\tToNodeId\n" + content)
    words = {name: pc.binary_join_element_wise("user", ids.cast(pa.utf8()), "") for name, ids in ends.items()}
    weights = pa.array(rng.random(EDGES, dtype=np.float32))
    csv.write_csv(pa.table({**words, "weight": weights}), folder / "names.csv", plain)
    from pyarrow import parquet

    parquet.write_table(table, folder / "integers.parquet")
    graph = read_graph(folder / "integers.parquet")
    graph.x = torch.from_numpy(rng.standard_normal((graph.num_nodes, FEATURES), dtype=np.float32))
    graph.y = torch.from_numpy(rng.integers(0, CLASSES, graph.num_nodes))
    save_graph(graph, folder / "folder")


def measure(rounds: int) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        here = Path(__file__).parent.parent
        os.chdir(folder)  # runs of embed go there
        try:
            for case, (arguments, _) in COMMANDS.items():
                for each in range(rounds if case == "embed" else 1):
                    out = ["--out", str(folder / f"run{each}")] if case == "embed" else []
                    results.append({"case": case, **least([*arguments, *out], 1 if out else rounds)})
            # By a process of its own: one that was large would count in the memory of those it starts.
            subprocess.run([sys.executable, "-c", WRITE, str(folder)], check=True, cwd=here / "benchmarks")
            results += [{"case": file, **read(folder / file, folder / "row.json")} for file in FILES]
            results += [{"case": case, **run(["-m", "kappagcn", *words])} for case, (words, _) in ON_FOLDER.items()]
        finally:
            os.chdir(here)
    return {"nodes": NODES, "edges": EDGES, "rounds": rounds, "results": results}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    print(record.save("data_in", measure(arguments.rounds), PACKAGES))


if __name__ == "__main__":
    main()
