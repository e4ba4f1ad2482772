"""Delimited text (CSV, TSV, blanks) as columns, parsed by pyarrow.

- The separator is a tab, semicolon, comma or vertical bar: the first of these in the first line, outside quotation
  marks; otherwise blanks.
- Cells may be quoted. A quoted cell is taken as it stands; from others blanks at both ends are removed.
- Empty lines are skipped, and lines that start with an unquoted ``#`` or ``%``, which are comments. But a line such as
  ``#art,ann``, with the columns of the table and no blank after the mark, is a row; above the first row it is a doubt.
- Whatever pyarrow does not read in this way is read again line by line: slower, but an error then names its line.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.compressed import read_content

__all__ = ["DelimitedFile", "is_number"]

BLOCK_SIZE = 2**24  # bytes parsed at a time
CELL_LIMIT = 2**17  # characters of a cell: a quotation mark that is open for longer is a mistake
MARKS = "\t;,|"
BLANKS = " \t\v\f\u00a0"
COMMENT_LINE = re.compile(rb"^[ \t]*[#%].*\n?", re.MULTILINE)
MARKED_ROW = re.compile(r"[#%][^#%\s]")  # how a row may start that is no comment
COMMENT_LINE_OF_TABS = re.compile(rb"^ *[#%].*\n?", re.MULTILINE)  # where a tab ends an empty first cell
QUOTED = re.compile(rb'"[^"]*"')
CLOSED = re.compile(r'"[^"]*(?:""[^"]*)*"(?!")')
INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,17})", re.ASCII)


class _IrregularFileError(Exception):
    """A file that only the line-by-line reader handles."""


class DelimitedFile:
    """A delimited text file and the layout of its rows.

    Attributes:
        separator: Character between cells; None for blanks.
        head: Cells of the first two rows, or of fewer if the file has fewer.
    """

    def __init__(self, path: str | Path, content: bytes | None = None) -> None:
        self.path = Path(path)
        content = read_content(self.path) if content is None else content
        self.content = content.removeprefix(b"\xef\xbb\xbf")
        lines = (line for line in io.BytesIO(self.content) if line.strip())
        first = QUOTED.sub(b"", next((line for line in lines if not line.lstrip().startswith((b"#", b"%"))), b""))
        self.separator = next((mark for mark in MARKS if mark.encode() in first), None)
        mark = re.escape(self.separator or " ")
        self._cell = re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|(?!")([^{mark}\r\n]*))({mark}|\r\n?|\n|\Z)')
        self._comment = re.compile(r"[ ]*[#%]" if self.separator == "\t" else r"[ \t]*[#%]")
        self._starts = list(itertools.islice(self._numbered_rows(), 2))
        self.head = [cells for *_, cells in self._starts]

    def rows(self) -> Iterator[list[str]]:
        """Cells of every row, without empty lines and comments."""
        return (cells for *_, cells in self._numbered_rows())

    def line(self, row: int) -> int:
        """The number from 1 of the line where a row starts; rows are numbered from 0."""
        return next((line for line, *_ in itertools.islice(self._numbered_rows(), row, None)), row + 1)

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        return f"{self.path}, line {self.line(row)}"

    def table(self, start: int = 0) -> pa.Table:
        """All columns from a row on: integers in their usual form as int64, all others as text.

        Integers are only a faster form of the same text: 007, +7 and 7.0 remain text, and so does every column where
        one of them occurs.
        """
        if start >= len(self._starts):
            return pa.table({name: pa.array([], pa.utf8()) for name in self._names()})
        try:
            content = self._regular_content(self._starts[start][1])
            return self._integer_table(content, self.head[-1]) or self._text_table(content)
        except _IrregularFileError:
            return self._by_line(start)

    def _names(self) -> list[str]:
        return [str(i) for i in range(len(self.head[0]) if self.head else 0)]

    def _numbered_rows(self) -> Iterator[tuple[int, int, list[str]]]:
        """Number of the first line, its position in bytes, and the cells of every row."""
        number, position, width = 0, 0, None
        doubtful: list[tuple[int, str]] = []
        lines = io.TextIOWrapper(io.BytesIO(self.content), encoding="utf-8", newline="")
        try:
            for line in lines:
                number, start, first = number + 1, position, number + 1
                position += len(line.encode())
                if not line.strip(BLANKS + "\r\n"):
                    continue
                if self._comment.match(line) and not self._is_marked_row(line, first, width):
                    doubtful += [(first, line)] * (width is None)
                    continue
                while (cells := self._split(line, first)) is None:
                    more = next(lines, "")
                    if not more or len(line) > CELL_LIMIT:
                        raise self._unsplit(first)
                    line, number, position = line + more, number + 1, position + len(more.encode())
                if width is None:
                    width = len(cells)
                    self._refuse_doubt(doubtful, width)
                yield first, start, cells
        except UnicodeDecodeError:
            valid = re.split("[\udc80-\udcff]", self.content.decode(errors="surrogateescape"), maxsplit=1)[0]
            number = valid.count("\n") + 1
            raise GraphFileError(f"{self.path}, line {number}: expected text in UTF-8, found other bytes.") from None

    def _split(self, line: str, number: int) -> list[str] | None:
        """The cells of a line; None if a quotation mark is open at its end."""
        if self.separator is None:
            return re.split(r"[ \t]+", line.strip(BLANKS + "\r\n"))
        cells, position = [], 0
        while True:
            match = self._cell.match(line, position)
            if match is None and CLOSED.match(line, position):
                raise self._unsplit(number)
            if match is None:
                return None
            quoted, plain, end = match.groups()
            cells.append(plain.strip(BLANKS) if quoted is None else quoted.replace('""', '"'))
            if len(cells[-1]) > CELL_LIMIT:
                raise self._unsplit(number)
            if end != self.separator:
                return cells
            position = match.end()

    def _is_marked_row(self, line: str, number: int, width: int | None) -> bool:
        """Whether a line that starts with # or % has as many cells as the rows above it."""
        if width is None or self.separator is None or not MARKED_ROW.match(line):
            return False
        cells = self._split(line, number)
        return cells is not None and len(cells) == width

    def _refuse_doubt(self, comments: list[tuple[int, str]], width: int) -> None:
        """Refuse a line above the first row that may be a comment or a row, such as ``#art,ann``."""
        for number, line in comments:
            if self._is_marked_row(line, number, width) and not re.search(r"\w +\w", line):
                raise GraphFileError(
                    f"{self.path}, line {number}: expected a comment or a row, found {line.strip()[:60]!r}, which may "
                    "be either. Write a blank after the mark for a comment; quote the first cell for a row."
                )

    def _unsplit(self, number: int) -> GraphFileError:
        return GraphFileError(
            f"{self.path}, line {number}: expected a table, found a row that cannot be split. "
            "Is a quotation mark missing?"
        )

    def _regular_content(self, position: int) -> bytes:
        """The rows from a position on in the form that pyarrow reads: no comments, and one blank between cells."""
        content = self.content[position:] if position else self.content
        quoted = b'"' in content
        if b"\r" in content and not quoted:
            content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if quoted and (self.separator is None or content.count(b'"') % 2):
            raise _IrregularFileError  # an open quotation mark would join the lines up to the next one
        if b"#" in content or b"%" in content:
            pattern = COMMENT_LINE_OF_TABS if self.separator == "\t" else COMMENT_LINE
            comments = pattern.findall(content.replace(b"\r", b"\n"))
            if comments and (quoted or any(MARKED_ROW.match(line.decode(errors="replace")) for line in comments)):
                raise _IrregularFileError
            content = content if quoted else pattern.sub(b"", content)
        if self.separator is None:
            content = content.replace(b"\t", b" ")
            while b"  " in content:
                content = content.replace(b"  ", b" ")
            content = content.strip(b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n")
        return content

    def _integer_table(self, content: bytes, cells: Sequence[str]) -> pa.Table | None:
        """The columns, some as int64; None if none can be, or if an integer is in another form than its usual one."""
        types = {str(i): pa.int64() if INTEGER.fullmatch(cell) else pa.utf8() for i, cell in enumerate(cells)}
        if list(types) != self._names() or pa.int64() not in types.values() or b'"' in content:
            return None
        try:
            table = self._parse(content, types)
        except _IrregularFileError:
            return None
        length = table.num_rows * table.num_columns - (not content.endswith(b"\n"))  # separators and ends of lines
        for column in table.columns:
            integers = pa.types.is_integer(column.type)
            length += _digits(column.to_numpy()) if integers else pc.sum(pc.binary_length(column)).as_py() or 0
        return self._trimmed(table, content) if length == len(content) else None

    def _text_table(self, content: bytes) -> pa.Table:
        return self._trimmed(self._parse(content, dict.fromkeys(self._names(), pa.utf8())), content)

    def _trimmed(self, table: pa.Table, content: bytes) -> pa.Table:
        """The table with texts freed of blanks at both ends, unless they were quoted."""
        if not any(mark.encode() in content for mark in BLANKS if mark != self.separator):
            return table
        trimmed = [pc.utf8_trim(c, BLANKS) if pa.types.is_string(c.type) else c for c in table.columns]
        if b'"' in content and any(not c.equals(other) for c, other in zip(table.columns, trimmed, strict=True)):
            raise _IrregularFileError  # only the line-by-line reader knows which of the cells was quoted
        return pa.table(trimmed, table.column_names)

    def _parse(self, content: bytes, types: dict[str, Any]) -> pa.Table:
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(content),
                read_options=arrow_csv.ReadOptions(column_names=list(types), block_size=BLOCK_SIZE),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.separator or " ",
                    quote_char='"' if self.separator else False,
                    newlines_in_values=b'"' in content,
                ),
                convert_options=arrow_csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
            )
        except pa.ArrowInvalid:
            raise _IrregularFileError from None

    def _by_line(self, start: int) -> pa.Table:
        width = len(self.head[0])
        columns: list[list[str]] = [[] for _ in range(width)]
        for number, _, cells in itertools.islice(self._numbered_rows(), start, None):
            if len(cells) != width:
                raise GraphFileError(
                    f"{self.path}, line {number}: expected {width} columns, as in the first line, found {len(cells)}."
                )
            for column, cell in zip(columns, cells, strict=True):
                column.append(cell)
        return pa.table(dict(zip(self._names(), [pa.array(column, pa.utf8()) for column in columns], strict=True)))


def _digits(numbers: Any) -> int:
    """Characters of integers in their usual form."""
    size, count = np.abs(numbers), len(numbers) + int((numbers < 0).sum())
    power, largest = 10, int(size.max(initial=0))
    while power <= largest:
        count += int((size >= power).sum())
        power *= 10
    return count


def is_number(text: Any) -> bool:
    """Whether Python reads a value, such as text, as a number."""
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True
