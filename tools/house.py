"""The figure of the house in CONTRIBUTING.md, from the imports of the packages of src/kappagcn.

python tools/house.py            draws it anew
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "kappagcn"
FIGURE = re.compile(r"(?<=<!-- house -->\n\n)```mermaid\n.*?```\n", re.DOTALL)


def packages() -> list[str]:
    """Names of the packages."""
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def imports(package: str) -> set[str]:
    """Other packages that the modules of a package import when they are loaded."""
    names: set[str] = set()
    for path in (PACKAGE / package).rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module and module.startswith("kappagcn.") and module.split(".")[1] in packages():
                names.add(module.split(".")[1])
    return names - {package}


def needed(package: str, arrows: dict[str, set[str]]) -> set[str]:
    """The packages that one imports and none of its other imports imports already."""
    direct, through = arrows[package], {name: below(name, arrows) for name in arrows}
    return {
        one
        for one in direct
        if not any(one in through[other] and other not in through[one] for other in direct - {one})
    }


def below(package: str, arrows: dict[str, set[str]]) -> set[str]:
    """All packages that one needs, directly or not."""
    names: set[str] = set()
    waiting = [package]
    while waiting:
        for name in arrows[waiting.pop()] - names:
            names.add(name)
            waiting.append(name)
    return names


def figure() -> str:
    """A package above those that it imports; arrows that follow from others are left out."""
    arrows = {package: imports(package) for package in packages()}
    lines = [f"    {package} --> {name}" for package in arrows for name in sorted(needed(package, arrows))]
    return "\n".join(["```mermaid", "graph TD", *lines, "```"]) + "\n"


def main() -> int:
    path = ROOT / "CONTRIBUTING.md"
    path.write_text(FIGURE.sub(lambda _: figure(), path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
