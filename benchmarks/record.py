"""What every committed result carries: how it was made, on what, with which versions."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import torch

from kappagcn.paper.machine import processor
from kappagcn.training.provenance import commit

RECORDS = Path(__file__).parents[1] / "records"
DOCS = Path(__file__).parents[1] / "docs"
PEERS = ("torch", "geoopt", "kappagcn")


def provenance(packages: tuple[str, ...]) -> dict[str, Any]:
    return {
        "command": " ".join(["python", Path(sys.argv[0]).parent.name + "/" + Path(sys.argv[0]).name, *sys.argv[1:]]),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "machine": {
            "processor": processor(),
            "instructions": torch.backends.cpu.get_cpu_capability(),
            "cores": os.cpu_count(),
            "system": platform.system(),
        },
        "commit": commit(Path(__file__).parent / "*.py"),
    }


def save(name: str, result: dict[str, Any], packages: tuple[str, ...] = PEERS) -> Path:
    """Keep a result: its settings one a line, its rows one a line."""
    RECORDS.mkdir(exist_ok=True)
    path = RECORDS / f"{name}.json"
    rows = result.pop("results")
    head = json.dumps({**provenance(packages), **result}, indent=1, ensure_ascii=False)[:-2]
    body = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(f'{head},\n "results": [\n  {body}\n ]\n}}\n')
    return path


def load(name: str) -> dict[str, Any]:
    saved: dict[str, Any] = json.loads((RECORDS / f"{name}.json").read_text())
    return saved
