"""Settings as TOML files."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kappagcn.errors import ConfigError
from kappagcn.io_atomic import atomic_write

__all__ = ["read_toml", "write_toml"]


def read_toml(path: str | Path) -> dict[str, Any]:
    """The settings in a TOML file."""
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except OSError as problem:
        raise ConfigError(f"{path}: expected a TOML file, found {problem.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path}: expected TOML, found {problem}.") from None


def write_toml(path: str | Path, values: Mapping[str, Any]) -> None:
    """Write words, numbers and lists of them as a TOML file."""
    lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
    try:
        with atomic_write(Path(path)) as file:
            file.write(("\n".join(lines) + "\n").encode())
    except OSError as problem:
        raise ConfigError(f"{path}: cannot be written ({problem.strerror}).") from None


def _toml(value: Any) -> str:
    """A TOML value: as in JSON, except for one character that TOML requires to be escaped."""
    values = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(each, str) or (isinstance(each, int | float) and math.isfinite(each)) for each in values):
        raise ConfigError(f"expected settings that are words, finite numbers or lists of them, found {value!r}.")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
