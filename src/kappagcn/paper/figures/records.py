"""Reading the records of figures; the error for a missing record names the command that makes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kappagcn.errors import RecordError

__all__ = ["json_file", "json_lines"]


def _text(path: Path, command: str) -> str:
    if not path.is_file():
        raise RecordError(f"{path}: expected records, found no file. `{command}` makes them.")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise RecordError(f"{path}: expected records, found {problem}. `{command}` makes them.") from None


def json_file(path: Path, command: str) -> dict[str, Any]:
    """One record."""
    return _record(_text(path, command), str(path), command)


def json_lines(path: Path, command: str) -> list[dict[str, Any]]:
    """Records, one per line, without those of failed runs and without an incomplete last line."""
    lines = _text(path, command).split("\n")[:-1]
    records = [_record(line, f"{path}, line {number}", command) for number, line in enumerate(lines, 1) if line]
    return [record for record in records if "failed" not in record]


def _record(text: str, where: str, command: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise RecordError(f"{where}: expected a record, found {text[:40]!r}. Remove it; `{command}` makes it again.")
    return record
