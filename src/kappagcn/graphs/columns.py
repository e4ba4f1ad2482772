"""Mixed columns of a node table as a matrix of numbers, and the rules by which another table is encoded alike.

Numbers and dates stay one column, categories become indicator columns, and a missing value is filled in and marked by
an indicator. Nothing is scaled here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.headings import MISSING_LABELS
from kappagcn.graphs.io.tables import as_days
from kappagcn.graphs.io.undirected import counted

__all__ = ["ColumnRule", "EncodedColumns", "encode_columns"]

Array = NDArray[Any]
MAX_CATEGORIES = 50  # indicators of one column; rarer categories share one more
FEWEST_NAMES = 5  # number of rows from which text that is different in each of them is a name
LISTED = 3  # columns that the sentence names


@dataclass(frozen=True)
class ColumnRule:
    """How one column of a table becomes columns of numbers; its fields are plain values, for JSON.

    Attributes:
        name: Name of the column.
        kind: ``"number"``, ``"category"``, or ``"none"`` for a column that is left out.
        fill: Replaces a missing number: the mean, or the more frequent of 0 and 1.
        categories: The categories that have an indicator, most frequent first.
        has_rest: Whether an indicator stands for all other categories.
        has_missing: Whether an indicator stands for missing values.
    """

    name: str
    kind: str
    fill: float = 0.0
    categories: tuple[str, ...] = ()
    has_rest: bool = False
    has_missing: bool = False

    @property
    def output_names(self) -> list[str]:
        """Names of the columns of numbers."""
        names = [self.name] if self.kind == "number" else [f"{self.name}={category}" for category in self.categories]
        return [*names, *[f"{self.name}=(other)"] * self.has_rest, *[f"{self.name} is missing"] * self.has_missing]


class EncodedColumns(NamedTuple):
    """Columns of numbers, made from the columns of a table.

    Attributes:
        values: The numbers, float32, (rows, D).
        names: Names of the D columns.
        sentence: What was done, in one line.
        rules: The rule of each column of the table; with it another table is encoded alike.
    """

    values: Array
    names: list[str]
    sentence: str
    rules: tuple[ColumnRule, ...]

    @property
    def unchanged(self) -> bool:
        """Whether all columns were numbers, with none missing."""
        return all(rule.kind == "number" and not rule.has_missing for rule in self.rules)

    def check(self) -> None:
        """Raise an error if no column is left."""
        if not self.names:
            names = _listed([rule.name for rule in self.rules]) or "none"
            raise GraphError(
                f"features: expected columns of numbers or words, found {names}, empty or different in most rows."
            )

    def add_to(self, data: Data, order: Array) -> None:
        """Make row ``order[i]`` the features of node i.

        The graph gets ``x``, ``attr_names``, the sentence in its report, and ``column_rules``, which are plain values.
        """
        data.x, data.attr_names = torch.from_numpy(self.values[order]), self.names
        data.column_rules = [asdict(rule) for rule in self.rules]
        if not self.unchanged:
            data.report = "; ".join([*[data.report] * ("report" in data), self.sentence])


def encode_columns(table: pa.Table, rules: Sequence[ColumnRule] | None = None) -> EncodedColumns:
    """The columns of a table as numbers.

    Numbers, booleans and dates (in days) give one column each, also where they are written as text. Other text, and
    any column of categories, gives an indicator for each of its at most 50 most frequent categories, and one for all
    others; text that is different in most rows, such as a name, and columns without a value are left out.
    Missing numbers, which are null, NaN, or in text a word such as ``NA``, get the column's mean, or of zeros and ones
    the more frequent; an indicator marks them. A missing category has an indicator alone.

    Args:
        table: Columns of features, a row for each node; not the column that names the nodes.
        rules: `EncodedColumns.rules` of the table that a network was trained on; None to make them from this table.

    >>> table = pa.table({"age": [30.0, None, 50.0], "plan": ["free", "paid", "free"]})
    >>> columns = encode_columns(table)
    >>> columns.names
    ['age', 'age is missing', 'plan=free', 'plan=paid']
    >>> columns.values[1].tolist()
    [40.0, 1.0, 0.0, 1.0]
    >>> columns.sentence
    'features: 1 numeric column, 1 categorical column as 2 indicators, missing values imputed in 1 column (age 33 %)'
    """
    names = [rule.name for rule in rules] if rules is not None else [str(name) for name in table.column_names]
    positions = range(table.num_columns) if names == table.column_names else [_position(table, name) for name in names]
    kinds = [None] * len(names) if rules is None else [rule.kind for rule in rules]
    columns = [_plain(table.column(i), name, kind) for i, name, kind in zip(positions, names, kinds, strict=True)]
    if rules is None:
        rules = [_rule(name, column) for name, column in zip(names, columns, strict=True)]
    blocks = [_encoded(rule, column) for rule, column in zip(rules, columns, strict=True)]
    values = np.concatenate([np.empty((table.num_rows, 0), np.float32), *blocks], axis=1)
    outputs = [name for rule in rules for name in rule.output_names]
    return EncodedColumns(values, outputs, _sentence(rules, columns), tuple(rules))


def _position(table: pa.Table, name: str) -> int:
    positions = [i for i, column in enumerate(table.column_names) if str(column) == name]
    if len(positions) != 1:
        number = "none" if not positions else f"{len(positions)} columns of that name"
        raise GraphError(f"features: expected the column {name!r}, as in fit, found {number}.")
    return positions[0]


def _plain(column: pa.ChunkedArray, name: str, expected: str | None) -> pa.Array:
    """The column as float64, or as text where its values are categories; null where a value is missing."""
    kind = column.type
    array = column.combine_chunks()
    array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    try:
        if pa.types.is_dictionary(kind):
            return _without_missing_words(array.dictionary_decode().cast(pa.utf8()))
        if expected == "category":
            return _without_missing_words(array.cast(pa.utf8()))
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            return as_days(array)
        if pa.types.is_boolean(kind):
            return array.cast(pa.int8()).cast(pa.float64())
        if pa.types.is_duration(kind) or pa.types.is_time(kind):
            return array.cast(pa.int64() if kind.bit_width == 64 else pa.int32()).cast(pa.float64(), safe=False)
        if _is_number(kind):
            return _checked(array.cast(pa.float64(), safe=False), name)
        text = _without_missing_words(array.cast(pa.utf8()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise GraphError(
            f"features: expected numbers, text, booleans or dates in the column {name!r}, found {kind}. Leave it out, "
            "or divide it into columns."
        ) from None
    return _checked(numbers, name) if (numbers := _numbers_in(text)) is not None else text


def _numbers_in(text: pa.Array) -> pa.Array | None:
    """Text as float64 where all of it is numbers, true and false, or dates in ISO 8601; otherwise None."""
    text = pc.utf8_trim_whitespace(text)
    lower = pc.utf8_lower(text)
    if pc.all(pc.is_in(lower, value_set=pa.array(["true", "false", None]))).as_py():
        return pc.equal(lower, "true").cast(pa.int8()).cast(pa.float64())
    for to_numbers in (lambda text: text.cast(pa.float64()), lambda text: as_days(text.cast(pa.timestamp("us")))):
        with suppress(pa.ArrowInvalid):
            return to_numbers(text)
    return None


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return any(test(kind) for test in (types.is_null, types.is_integer, types.is_floating, types.is_decimal))


def _without_missing_words(text: pa.Array) -> pa.Array:
    missing = pc.is_in(pc.utf8_trim_whitespace(text), value_set=pa.array(MISSING_LABELS, pa.utf8()))
    return pc.if_else(missing, None, text)


def _checked(numbers: pa.Array, name: str) -> pa.Array:
    """Numbers with null for NaN, all others finite in float32."""
    numbers = pc.if_else(pc.is_nan(numbers), None, numbers)
    largest = pc.max(pc.abs(numbers)).as_py()
    if largest is not None and largest > np.finfo(np.float32).max:
        raise GraphError(
            f"features: expected finite numbers in the column {name!r}, found some that are infinite or too large for "
            "float32. Make them missing, or leave the column out."
        )
    return numbers


def _rule(name: str, column: pa.Array) -> ColumnRule:
    """The rule of a column in the table that a network is trained on."""
    present = column.drop_null()
    if not len(present):
        return ColumnRule(name, "none")
    has_missing = len(present) < len(column)
    if not pa.types.is_string(column.type):
        numbers = present.to_numpy(zero_copy_only=False)
        mean = float(numbers.mean())
        fill = float(mean > 0.5) if np.isin(numbers, (0, 1)).all() else mean
        return ColumnRule(name, "number", fill=fill, has_missing=has_missing)
    counts = [(-count["counts"].as_py(), count["values"].as_py()) for count in present.value_counts()]
    are_names = len(counts) == len(present) >= FEWEST_NAMES
    if are_names or (len(counts) > MAX_CATEGORIES and 2 * len(counts) > len(present)):
        return ColumnRule(name, "none")
    categories = tuple(category for _, category in sorted(counts))
    rule = ColumnRule(name, "category", categories=categories[:MAX_CATEGORIES], has_missing=has_missing)
    return replace(rule, has_rest=len(categories) > MAX_CATEGORIES)


def _encoded(rule: ColumnRule, column: pa.Array) -> Array:
    """The columns of numbers of one column, (rows, D)."""
    values = np.zeros((len(column), len(rule.output_names)), np.float32)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    if rule.has_missing:
        values[:, -1] = missing
    if rule.kind == "number":
        if pa.types.is_string(column.type):
            raise GraphError(f"features: expected numbers in the column {rule.name!r}, as in fit, found text.")
        values[:, 0] = column.fill_null(rule.fill).to_numpy(zero_copy_only=False)
    elif rule.kind == "category":
        position = pc.index_in(column, value_set=pa.array(rule.categories, pa.utf8()))
        places = position.fill_null(len(rule.categories) if rule.has_rest else -1).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(~missing & (places >= 0))
        values[rows, places[rows]] = 1
    return values


def _sentence(rules: Sequence[ColumnRule], columns: Sequence[pa.Array]) -> str:
    parts = []
    kinds = {kind: [rule for rule in rules if rule.kind == kind] for kind in ("number", "category", "none")}
    if kinds["number"]:
        parts.append(counted(len(kinds["number"]), "numeric column"))
    if kinds["category"]:
        indicators = sum(len(rule.categories) + rule.has_rest for rule in kinds["category"])
        parts.append(f"{counted(len(kinds['category']), 'categorical column')} as {counted(indicators, 'indicator')}")
    if bounded := [rule.name for rule in rules if rule.has_rest]:
        parts.append(f"categories after the {MAX_CATEGORIES} most frequent joined in {_listed(bounded)}")
    shares = {
        rule.name: column.null_count / len(column)
        for rule, column in zip(rules, columns, strict=True)
        if rule.kind != "none" and column.null_count
    }
    if shares:
        where = _listed([f"{name} {_percent(share)}" for name, share in shares.items()])
        parts.append(f"missing values imputed in {counted(len(shares), 'column')} ({where})")
    if kinds["none"]:
        names = _listed([rule.name for rule in kinds["none"]])
        parts.append(f"{counted(len(kinds['none']), 'column')} left out, empty or different in most rows ({names})")
    return f"features: {', '.join(parts)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:LISTED], *["…"] * (len(names) > LISTED)])


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 else "under 1 %"
