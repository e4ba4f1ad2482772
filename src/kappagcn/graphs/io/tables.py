"""The one reader of tables: delimited text, Parquet, data frames and lists become columns with names, block by block.

Edges, features, labels, pairs and splits are columns of such a table, by name or position. Nodes go by their text as
it stands, whatever the type of a column: 1, 1.0 and "1" are one node, 007 is another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.io.headings import is_heading
from kappagcn.graphs.io.text import DelimitedFile, ending_of, is_number
from kappagcn.graphs.io.undirected import Array, name_source_in_errors, node_id

__all__ = [
    "Table",
    "arrow_table",
    "as_days",
    "as_integers",
    "is_frame",
    "node_ids",
    "read_numbers",
    "read_table",
    "read_tables",
    "read_times",
    "usual_ids",
]

BATCH = 2**20  # rows of a large table read together
DAY = 86_400e6  # microseconds
ODD_ID = r"^([+-]?[0-9]+\.0*|[+][0-9]+|-0)$"  # text of an integer in another form than its usual one
SETTLED = {
    1: "Call its first column node if it is a heading; write node,label above it if it is not.",
    2: "Say which with --header or --no-header (header=True or False in Python), or write source,target above it.",
}  # what to do about a doubt, by number of columns with nodes


class Table(NamedTuple):
    """Columns of a file or of an object in memory.

    Attributes:
        columns: The columns, by their names, or by "0", "1", … where there are none; those of text files are text.
        heading: Names of the columns; None where the source has none.
        place: Function from the number of a row to where it is, for messages.
        of_text: Whether the source is a text file, whose heading was detected.
    """

    columns: pa.Table
    heading: list[str] | None
    place: Callable[[int], str]
    of_text: bool = False

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.columns.num_columns)

    def name(self, i: int) -> str:
        """The name of a column."""
        return self.heading[i] if self.heading is not None else f"column {i + 1}"

    def position(self, name: str) -> int:
        """The position of the column with a name, or with its number from 1 where columns have no names."""
        names = self.heading if self.heading is not None else [str(i + 1) for i in range(self.width)]
        if names.count(name) != 1:
            raise GraphError(f"expected one column {name!r}, found {', '.join(names)}.")
        return names.index(name)


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame of pandas, polars or pyarrow."""
    return isinstance(value, pa.Table) or (hasattr(value, "columns") and hasattr(value, "__arrow_c_stream__"))


def read_table(source: Any, **options: Any) -> Table:
    """Read a table whole; arguments as in `read_tables`.

    >>> read_table([("ann", "bob"), ("bob", "cem")], nodes=2).columns.num_rows
    2
    """
    tables = list(read_tables(source, **options))
    return tables[0]._replace(columns=pa.concat_tables([table.columns for table in tables]))


def read_tables(
    source: Any,
    *,
    nodes: int,
    header: bool | None = None,
    names: Collection[str] = (),
    known: Collection[str] = (),
    expected: str = "rows",
    limited: bool = True,
) -> Iterator[Table]:
    """The blocks of rows of a table, of which there is at least one.

    Args:
        source: Path of a delimited text file or a Parquet file, a data frame, or a list of rows.
        nodes: Number of columns with nodes: 2 for edges and pairs, 1 for tables of nodes.
        header: Whether a text file has a heading; None to detect it, see `headings`.
        names: Names of columns that the heading must have, if there are any: a first row with them is the heading.
        known: Names of the nodes, where the graph is known.
        expected: What the rows are, for messages.
        limited: Whether a compressed file may only unpack to what fits in memory.
    """
    if is_frame(source):
        table = arrow_table(source)
        yield Table(table, [str(name) for name in table.column_names], lambda row: f"row {row}")
    elif not isinstance(source, str | Path):
        yield _rows(source)
    elif ending_of(Path(source)) == ".parquet":
        yield from _parquet(Path(source))
    else:
        file = DelimitedFile(source, limited=limited)
        yield from _text(file, nodes, header, names, known, expected)


def _text(
    file: DelimitedFile, nodes: int, header: bool | None, names: Collection[str], known: Collection[str], expected: str
) -> Iterator[Table]:
    first = file.first
    if first is None:
        raise GraphFileError(f"{file.path}: expected {expected}, one per line, found none.")
    if len(first) < 2:
        cells = "two nodes" if nodes == 2 else "a node and at least one value"
        raise GraphFileError(
            f"{file.place(0)}: expected {cells} per line, separated by comma, tab, semicolon or blanks, found "
            f"{first[0][:60]!r}."
        )
    if header is None and names and set(names) <= set(first):
        header = True
    blocks = file.tables(skip=1)
    rest = next(blocks)
    heading = is_heading(first, rest, nodes, known) if header is None else header
    if heading is None:
        raise GraphFileError(
            f"{file.place(0)}: expected a heading, or {expected}, found {', '.join(first)!r:.60}, which may be either. "
            + SETTLED[nodes]
        )
    if heading and rest.num_rows == 0:
        raise GraphFileError(f"{file.path}: expected {expected} below the heading, found none.")
    if not heading:
        rest = pa.concat_tables([pa.table([[cell] for cell in first], rest.column_names), rest])
    before = int(heading)
    while rest is not None:
        columns = rest.rename_columns(first) if heading else rest
        yield Table(columns, first if heading else None, _below(file.place, before), of_text=True)
        before += rest.num_rows
        rest = next(blocks, None)


def _parquet(path: Path) -> Iterator[Table]:
    from pyarrow import parquet

    with name_source_in_errors(path, "a Parquet file"), parquet.ParquetFile(path) as file:
        names, before = list(file.schema_arrow.names), 0

        def place(row: int) -> str:
            return f"{path}, row {row}"

        for group in range(file.num_row_groups):  # of all groups together pyarrow reads ahead without a bound
            for batch in file.iter_batches(BATCH, row_groups=[group]):
                yield Table(pa.Table.from_batches([batch]), names, _below(place, before))
                before += batch.num_rows
        if not before:
            yield Table(file.schema_arrow.empty_table(), names, place)


def _below(place: Callable[[int], str], rows: int) -> Callable[[int], str]:
    """Where a row is that so many others precede."""
    return lambda row: place(row + rows)


def arrow_table(frame: Any) -> pa.Table:
    """A data frame of any library as a table of pyarrow."""
    try:
        if isinstance(frame, pa.Table):
            return frame
        if not hasattr(frame, "iloc"):
            return pa.table(frame)
        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except OverflowError:  # integers beyond 64 bits are names like any other
            objects = {column: str for column, kind in frame.dtypes.items() if kind.kind == "O"}
            return pa.Table.from_pandas(frame.astype(objects), preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError) as error:
        raise GraphError(f"expected columns of integers, numbers or text, found others ({error}).") from None


def _rows(rows: Any) -> Table:
    """The table of an array with one row per row, or of a list of tuples of one length."""
    if isinstance(rows, np.ndarray):
        columns: list[Any] = [rows[:, i] for i in range(rows.shape[1])]
    else:
        rows = list(rows)
        wrong = next((i for i, row in enumerate(rows) if not _is_row(row) or len(row) != len(rows[0])), None)
        if wrong is not None:
            raise GraphError(
                "expected edges as pairs (u, v) or all as triples (u, v, weight), "
                f"found {rows[wrong]!r:.60} at edge {wrong}."
            )
        columns = [_plain(column) for column in zip(*rows, strict=True)] or [[], []]
    try:
        arrays = [pa.array(column) for column in columns]
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise GraphError(f"expected nodes that are all integers or all text, found others ({error}).") from None
    heading = ["source", "target", "weight"][: len(arrays)]
    return Table(pa.table(dict(zip(heading, arrays, strict=True))), heading, lambda row: f"row {row}")


def _is_row(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and 2 <= len(value) <= 3


def _plain(column: Sequence[Any]) -> list[Any]:
    values = [value.item() if isinstance(value, np.generic) else value for value in column]
    large = any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values)
    return [str(value) if isinstance(value, int) else value for value in values] if large else values


def node_ids(table: Table, i: int, expected: str) -> pa.ChunkedArray:
    """The nodes in a column, as int64 where all are integers in their usual form, otherwise as text."""
    column, name = table.columns.column(i), table.name(i)
    kind = column.type
    if column.null_count:
        raise GraphError(f"expected a node in every row of {name}, found {column.null_count:,} empty ones.")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or (pa.types.is_null(kind) and len(column) == 0):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            if pa.types.is_floating(kind):
                raise GraphError(f"expected nodes as integers or text in {name}, found fractions.") from None
    try:
        text = column.cast(pa.utf8())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise GraphError(f"expected nodes as integers or text in {name}, found {kind}.") from None
    if (integers := as_integers(text)) is not None:
        return integers
    if pc.min(pc.binary_length(text)).as_py() == 0:
        row = pc.index(text, "").as_py()
        raise GraphFileError(f"{table.place(row)}: expected {expected}, found an empty name.")
    return text


def as_integers(text: Any) -> Any:
    """Text as int64 if all of it is integers in their usual form; 007 and 9223372036854775808 are none."""
    with suppress(pa.ArrowInvalid):
        integers = text.cast(pa.int64())
        if integers.cast(pa.utf8()).equals(text):
            return integers
    return None


def usual_ids(ids: Any) -> Any:
    """Ids as text, integers in their usual form: 1 for 1.0 and +1."""
    if not pa.types.is_string(ids.type):
        return ids.cast(pa.utf8())
    odd = pc.match_substring_regex(ids, ODD_ID)
    if not pc.any(odd).as_py():
        return ids
    return pa.array(
        [node_id(name) if mark else name for name, mark in zip(ids.to_pylist(), odd.to_pylist(), strict=True)]
    )


def read_numbers(table: Table, i: int, expected: str) -> Array:
    """The numbers in a column, as float64, NaN where there is none."""
    column = table.columns.column(i)
    try:
        numbers: Array = column.cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        cells = column.to_pylist()  # Python reads more forms, such as +1
        wrong = next((row for row, cell in enumerate(cells) if not is_number(cell)), None)
        if wrong is not None:
            found = repr(cells[wrong])[:42]
            raise GraphFileError(f"{table.place(wrong)}: expected {expected}, found {found}.") from None
        numbers = np.array([float(cell) for cell in cells])
    return numbers


def read_times(table: Table, i: int) -> Array:
    """The times in a column, as float64: numbers as they are, dates in days since 1970."""
    column = table.columns.column(i)
    times = as_days(column) if pa.types.is_temporal(column.type) else None
    if pa.types.is_string(column.type):
        with suppress(pa.ArrowInvalid):
            times = as_days(column.cast(pa.timestamp("us")))
    if times is None:
        return read_numbers(table, i, "a number or a date such as 2024-03-01 as time")
    if times.null_count:
        raise GraphError(f"expected a time in every row, found {times.null_count:,} empty ones.")
    days: Array = times.to_numpy()
    return days


def as_days(times: pa.Array | pa.ChunkedArray) -> Any:
    """Dates and times as days since 1970."""
    kind = pa.timestamp("us", getattr(times.type, "tz", None))
    return pc.divide(times.cast(kind, safe=False).cast(pa.int64()).cast(pa.float64()), DAY)
