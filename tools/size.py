"""Lines of Python by folder, and bytes and files that the repository tracks.

python tools/size.py
"""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = ("src/kappagcn/", "tests/", "benchmarks/", "tools/", "examples/")


def folder(path: Path) -> str:
    """A package of the library, a folder of tests, or the folder at the top."""
    parts = path.parts
    depth = 3 if parts[0] == "src" else 2 if parts[0] == "tests" else 1
    return "/".join(parts[: min(depth, len(parts) - 1)])


def main() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [Path(name) for name in listed.splitlines() if (ROOT / name).is_file()]
    lines: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for path in paths:
        size[path.parts[0] if len(path.parts) > 1 else "(top)"] += (ROOT / path).stat().st_size
        if path.suffix == ".py":
            lines[folder(path)] += (ROOT / path).read_text(encoding="utf-8").count("\n")
    for name, count in sorted(lines.items()):
        print(f"{count:7,} lines  {name}")
    for name in ("src", "tests", "benchmarks", "tools"):
        print(f"{sum(n for of, n in lines.items() if of.split('/')[0] == name):7,} lines  {name} in all")
    for name, count in size.most_common():
        print(f"{count / 1e6:7.2f} MB     {name}")
    python = sum(path.suffix == ".py" for path in paths)
    print(f"{sum(size.values()) / 1e6:7.2f} MB     tracked, {len(paths):,} files, of them {python:,} Python")


if __name__ == "__main__":
    main()
