"""A setting: one field of a dataclass, with its help, the values it may have, and the choices that it serves."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, field, fields
from numbers import Integral, Real
from typing import Any

from kappagcn.errors import ConfigError

GIVEN = "given"  # for `only`: any value but None


def setting(
    default: Any,
    help: str,
    *,
    choices: Sequence[str] = (),
    range: str | None = None,
    flag: str | None = None,
    common: bool = False,
    python_only: bool = False,
    kw_only: bool = True,
    only: Mapping[str, Collection[Any]] | None = None,
) -> Any:
    """One field of a settings dataclass.

    `choices` are the allowed words, `range` the allowed numbers as an interval such as ``"[0, 1)"``; `flag` is the name
    on the command line and in TOML files if it differs from the field's. `common` settings are options of the command,
    the rest is reached by ``--set``, except for those that are `python_only`. `only` are the values of other settings,
    by name, with which this one has an effect.
    """
    metadata = {"help": help, "choices": tuple(choices), "range": range, "flag": flag, "only": only or {}}
    return field(default=default, kw_only=kw_only, metadata=metadata | {"common": common, "python_only": python_only})


def flag_of(each: Field[Any]) -> str:
    """The name of a setting on the command line and in TOML files, with underscores."""
    return each.metadata["flag"] or each.name


def parsed(each: Field[Any], value: Any) -> Any:
    """A value from its text, where the type of its field is not text."""
    kind = str(each.type)
    if not isinstance(value, str) or each.metadata["choices"] or kind == "str" or value == each.default == "auto":
        return value
    several, whole = "Sequence" in kind, kind.startswith("int")
    try:
        if several:
            numbers = [int(word) for word in value.split(",")]
            return numbers[0] if len(numbers) == 1 else numbers
        return int(value) if whole else float(value)
    except ValueError:
        form = "a number, or some separated by commas" if several else "a whole number" if whole else "a number"
        auto = " or auto" if each.default == "auto" else ""
        flag = flag_of(each).replace("_", "-")
        raise ConfigError(f"--{flag}: expected {form}{auto}, found {value!r}.") from None


def check_value(each: Field[Any], value: Any) -> None:
    """Refuse a value of another type, outside of the range, or none of the allowed words."""
    kind, choices = str(each.type), each.metadata["choices"]
    if choices and value not in choices:
        raise ConfigError(f"{each.name}: expected {', '.join(choices)}, found {value!r}.")
    if kind == "bool" and not isinstance(value, bool):
        raise ConfigError(f"{each.name}: expected True or False, found {value!r}.")
    if kind == "str" and not isinstance(value, str):
        raise ConfigError(f"{each.name}: expected a word, found {value!r}.")
    interval = each.metadata["range"]
    if interval is None or value is each.default is None or value == each.default == "auto":
        return
    whole = kind.startswith("int")
    if isinstance(value, bool) or not isinstance(value, Integral if whole else Real) or not _within(interval, value):
        what = "a whole number" if whole else "a number"
        words = ' or "auto"' if each.default == "auto" else ""
        raise ConfigError(f"{each.name}: expected {what} in {interval}{words}, found {value!r}.")


def check_count(name: str, value: Any, low: int = 1) -> int:
    """A whole number that is not below `low`, as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise ConfigError(f"{name}: expected a whole number from {low}, found {value!r}.")
    return int(value)


def _within(interval: str, value: Any) -> bool:
    low, high = map(float, interval[1:-1].split(", "))
    inside = low < value < high or (value == low and interval[0] == "[") or (value == high and interval[-1] == "]")
    return inside and math.isfinite(value)


def idle_reason(each: Field[Any], settings: Any) -> str | None:
    """The value of another setting with which this one has no effect, such as ``"model gcn"``; None if it has one."""
    for name, values in each.metadata["only"].items():
        if not hasattr(settings, name):
            continue
        value = getattr(settings, name)
        if not (value is not None if values == GIVEN else value in values):
            return f"no {name}" if value is None else f"{name} {value}"
    return None


def purpose(each: Field[Any], kind: type[Any]) -> str:
    """The values of other settings of a task that a setting serves, such as ``"model appnp"``."""
    others, conditions = {other.name: other for other in fields(kind)}, []
    for name, values in each.metadata["only"].items():
        if name not in others:
            continue
        named = [value for value in others[name].metadata["choices"] or values if value in values]
        conditions.append(name if values == GIVEN else f"no {name}" if None in values else f"{name} {', '.join(named)}")
    return " and ".join(conditions)


def description(each: Field[Any], kind: type[Any]) -> str:
    """What a setting means, the values that it may have, and the settings that it needs.

    >>> from kappagcn.training.settings import NetworkSettings
    >>> description(fields(NetworkSettings)[1], NetworkSettings)
    'Maximum number of training epochs. In [1, inf).'
    """
    choices, needed = each.metadata["choices"], purpose(each, kind)
    words: str = each.metadata["help"]
    words += f" One of {', '.join(choices)}." if choices else ""
    words += f" In {each.metadata['range']}." if each.metadata["range"] else ""
    return words + (f" Only with {needed}." if needed else "")


def settings_table(kind: type[Any]) -> str:
    """The settings of a task as a Markdown table: argument, option, default, meaning.

    >>> from kappagcn.training.settings import Settings
    >>> print(settings_table(Settings).splitlines()[3])
    | `epochs` | `--epochs` | `2000` | Maximum number of training epochs. In [1, inf). |
    """
    lines = ["| argument | option | default | |", "| --- | --- | --- | --- |"]
    for each in fields(kind):
        flag = flag_of(each).replace("_", "-")
        option = f"`--{flag}`" if each.metadata["common"] else f"`--set {flag}=…`"
        option = "" if each.metadata["python_only"] else option
        lines.append(f"| `{each.name}` | {option} | `{each.default}` | {description(each, kind)} |")
    return "\n".join(lines)
