"""Options of the command line from the fields of settings."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import Field, fields
from enum import StrEnum
from typing import Annotated, Any

import typer

from kappagcn.estimators.settings import flag_of, interval

__all__ = ["flags", "plain", "resolved_flags", "setting_options"]


def flags(kind: type[Any]) -> dict[str, Field[Any]]:
    """Settings with a flag on the command line, by its name with underscores."""
    return {flag_of(each): each for each in fields(kind) if each.metadata["shown"]}


def setting_options(kind: type[Any]) -> list[inspect.Parameter]:
    """One option of a command for each setting of a task, with type, default, limits and help of its field."""
    return [_setting_option(flag, each) for flag, each in flags(kind).items()]


def _setting_option(flag: str, each: Field[Any]) -> inspect.Parameter:
    about: dict[str, Any] = {"help": each.metadata["help"]}
    kind: Any = {"int": int, "int | None": int | None, "float": float, "bool": bool}.get(str(each.type), str)
    default = each.default if kind is not str else str(each.default)
    if str(each.type).startswith("int") and kind is not str:  # wrong numbers are refused while arguments are read
        low, high = interval(each)
        about |= {"min": int(low), "max": None if high == math.inf else int(high) - 1}
    if each.metadata["choices"]:
        kind = _enumeration(flag, each.metadata["choices"])
        default = kind(default)
    name = flag.replace("_", "-")
    names = [f"--{name}/--no-{name}"] if kind is bool else [f"--{name}"]
    option = Annotated[kind, typer.Option(*names, **about)]
    return inspect.Parameter(flag, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=option)


def _enumeration(name: str, words: Sequence[str]) -> Any:
    """The type of an option that takes one of some words."""
    return StrEnum(name, {word: word for word in words})


def plain(value: Any) -> Any:
    """An option's value as settings take it."""
    return value.value if isinstance(value, StrEnum) else value


def resolved_flags(settings: Any) -> dict[str, Any]:
    """The values of settings by flag, as TOML files and ``--dry-run`` have them."""
    values = {flag: getattr(settings, each.name) for flag, each in flags(type(settings)).items()}
    return {flag: ",".join(map(str, v)) if isinstance(v, list | tuple) else v for flag, v in values.items()}
