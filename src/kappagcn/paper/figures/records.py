"""Reading the records of figures; the error for a missing record names the command that makes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kappagcn.errors import CheckpointError
from kappagcn.paper.runs import record_lines

__all__ = ["json_file", "json_lines"]


def json_file(path: Path, command: str) -> dict[str, Any]:
    """One record."""
    if not path.is_file():
        raise CheckpointError(f"{path}: expected records, found no file. `{command}` makes them.")
    try:
        return _record(path.read_text(encoding="utf-8"), str(path), command)
    except (OSError, UnicodeDecodeError) as problem:
        raise CheckpointError(f"{path}: expected records, found {problem}. `{command}` makes them.") from None


def json_lines(path: Path, command: str) -> list[dict[str, Any]]:
    """Records, one per line, without those of failed runs and without an incomplete last line."""
    lines = list(record_lines(path))
    if not lines:
        raise CheckpointError(f"{path}: expected records, found no file. `{command}` makes them.")
    records = [_record(line, where, command) for where, line in lines]
    return [record for record in records if "failed" not in record]


def _record(text: str, where: str, command: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise CheckpointError(
            f"{where}: expected a record, found {text[:40]!r}. Remove it; `{command}` makes it again."
        )
    return record
