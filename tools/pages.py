"""Pages are Markdown with expressions in braces, which jinja2 fills from records; a value that is missing is an error.

    python tools/pages.py            makes the README's tables anew, between its markers
    python tools/pages.py --check    ends with an error where they are not those of the records

Expressions have `record("demo")`, which is records/demo.json, the functions of tools/tables.py, and the filters below.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

import tables

ROOT = Path(__file__).parents[1]
MARKED = re.compile(r"(<!-- table: (.+?) -->\n\n)(?:\|.*\n)*")


@cache
def record(name: str) -> dict[str, Any]:
    """A record of a benchmark; its rows are under `results`."""
    saved: dict[str, Any] = json.loads((ROOT / "records" / f"{name}.json").read_text(encoding="utf-8"))
    return saved


def made_with(saved: dict[str, Any]) -> str:
    """How a record was made: command, versions, machine, and the commit where it is known."""
    versions = ", ".join(f"{name} {version}" for name, version in saved["versions"].items())
    about = saved["machine"]
    machine = ", ".join(str(about[key]) for key in ("processor", "instructions") if about.get(key))
    commit = f"; commit {saved['commit'][:10]}" if saved.get("commit") else ""
    made = f"Python {saved['python']}, {versions}; {machine}, {about['cores']} cores{commit}"
    return f"Made with `{saved['command']}` ({made})."


def fixed(value: float, digits: int = 0) -> str:
    """A number with so many digits after the point, and commas between thousands."""
    return f"{value:,.{digits}f}".replace("-", "−")


def power(value: float) -> str:
    """A number as 1.2e-07; a dash where there is none."""
    return "–" if value != value else f"{value:.1e}"


def environment() -> jinja2.Environment:
    """What renders all pages."""
    made = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, and nothing of it is foreign
        comment_start_string="{##",
        comment_end_string="##}",
    )
    made.filters |= {"fixed": fixed, "power": power, "signed": tables.signed}
    made.globals |= {"record": record, "made_with": made_with}
    made.globals |= {name: getattr(tables, name) for name in tables.__all__}
    return made


@cache
def render(text: str) -> str:
    """A page with its expressions filled."""
    return environment().from_string(text).render() if "{{" in text or "{%" in text else text


def refreshed(text: str) -> str:
    """A text with the table after each marker made anew: ``<!-- table: speed() -->``."""
    return MARKED.sub(lambda found: f"{found[1]}{render('{{ ' + found[2] + ' }}').strip()}\n", text)


def main(arguments: list[str]) -> int:
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    if "--check" in arguments:
        return int(refreshed(text) != text)
    path.write_text(refreshed(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
