"""What every committed result carries: how it was made, on what, with which versions."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def provenance(packages: tuple[str, ...] = ("torch", "geoopt", "kappagcn")) -> dict[str, Any]:
    return {
        "command": " ".join(["python", Path(sys.argv[0]).parent.name + "/" + Path(sys.argv[0]).name, *sys.argv[1:]]),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.system()},
    }


def save(name: str, result: dict[str, Any]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({**provenance(), **result}, indent=1, ensure_ascii=False) + "\n")
    return path
