"""Delimited text files (CSV, TSV, blanks), read by columns with pyarrow.

- The separator is a tab, semicolon, comma or blanks: the first of these in the first line.
- Empty lines and lines that start with ``#`` or ``%`` are skipped. Cells may be quoted.
- Whatever pyarrow does not accept is read again line by line: slower, but an error then names its line.
"""

import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.compressed import read_content

BLOCK_SIZE = 2**24  # bytes parsed at a time
COMMENT_LINE = re.compile(rb"^[ \t]*[#%].*\n?", re.MULTILINE)
COMMENT_LINE_OF_TABS = re.compile(rb"^ *[#%].*\n?", re.MULTILINE)  # where a tab ends an empty first cell

ODD_INTEGERS = (b"+", b"-0", b".", b'"', b" ")  # where they occur, integers may not be in their usual form

Kind = Literal["name", "text", "number"]
"""Kind of a column: names (not empty), any text, or numbers."""


class _IrregularFileError(Exception):
    """A file that only the line-by-line reader handles."""


class DelimitedFile:
    """A delimited text file and the layout of its rows.

    Attributes:
        separator: Character between cells; None for blanks.
        head: Line number and cells of the first two rows, or of fewer if the file has fewer.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.content = read_content(self.path).removeprefix(b"\xef\xbb\xbf")
        lines = (line for line in io.BytesIO(self.content) if line.strip())
        first = next((line for line in lines if not line.lstrip().startswith((b"#", b"%"))), b"")
        self.separator = next((mark for mark in "\t;," if mark.encode() in first), None)
        self.head = list(itertools.islice(self.rows(), 2))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every row, without empty lines and comments."""
        number = 0
        text = io.TextIOWrapper(io.BytesIO(self.content), encoding="utf-8", newline="")
        try:
            for number, cells in self._split(text):
                blank = not cells or (len(cells) == 1 and not cells[0].strip())
                if not blank and not cells[0].lstrip().startswith(("#", "%")):
                    yield number, cells
        except UnicodeDecodeError:
            valid = re.split("[\udc80-\udcff]", self.content.decode(errors="surrogateescape"), maxsplit=1)[0]
            line = valid.count("\n") + 1
            raise GraphFileError(f"{self.path}, line {line}: expected text in UTF-8, found other bytes.") from None
        except csv.Error as error:
            raise GraphFileError(
                f"{self.path}, after line {number}: expected a table, found a row that cannot be split ({error}). "
                "Is a quotation mark missing?"
            ) from None

    def _split(self, text: io.TextIOWrapper) -> Iterator[tuple[int, list[str]]]:
        if self.separator is None:
            for number, line in enumerate(text, 1):
                yield number, re.split(r"[ \t]+", line.strip(" \t\r\n"))
        else:
            reader = csv.reader(text, delimiter=self.separator, strict=True)
            for cells in reader:
                yield reader.line_num, cells

    def columns(self, kinds: Mapping[int, Kind], *, heading: bool, words: Mapping[Kind, str]) -> list[Any]:
        """Some columns of all rows below the heading.

        Args:
            kinds: Kind of each column to read, by position.
            heading: Whether the first row is a heading.
            words: Text for errors by kind: what was expected.

        Returns:
            For names and texts a pyarrow ``ChunkedArray`` of trimmed text, for numbers a float64 array.
        """
        try:
            return self._parse(kinds, heading)
        except _IrregularFileError:
            return self._parse_by_line(kinds, heading, words)

    def integer_columns(self, *, heading: bool) -> list[Any] | None:
        """Both columns of a file of two as int64, if all cells are integers in their usual form; otherwise None.

        Much faster than reading text. Cells that start with 0 are counted, so that 007 is not read as the node 7.
        """
        mark = (self.separator or " ").encode()
        try:
            content = self._regular_content(heading)
            odd = [each for each in ODD_INTEGERS if each != mark]
            if len(self.head[0][1]) != 2 or any(each in content for each in odd) or not content:
                return None
            ends = content if content.endswith(b"\n") else content + b"\n"
            zeros = ends.count(b"\n0") + ends.startswith(b"0"), ends.count(mark + b"0")
            if zeros != (ends.count(b"\n0" + mark) + ends.startswith(b"0" + mark), ends.count(mark + b"0\n")):
                return None
            columns: list[Any] = self._table(content, {0: pa.int64(), 1: pa.int64()}).columns
            return columns
        except _IrregularFileError:
            return None

    def _parse(self, kinds: Mapping[int, Kind], heading: bool) -> list[Any]:
        types = {i: pa.float64() if kind == "number" else pa.utf8() for i, kind in kinds.items()}
        table = self._table(self._regular_content(heading), types)
        return [
            column.to_numpy() if kind == "number" else self._checked_text(column, kind)
            for column, kind in zip(table.columns, kinds.values(), strict=True)
        ]

    def _table(self, content: bytes, kinds: Mapping[int, Any]) -> Any:
        """Some columns, by position, as pyarrow reads them."""
        names = [str(i) for i in range(len(self.head[0][1]))]
        types = {names[i]: kind for i, kind in kinds.items()}
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(content),
                read_options=arrow_csv.ReadOptions(column_names=names, block_size=BLOCK_SIZE),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.separator or " ",
                    quote_char='"' if self.separator else False,
                    newlines_in_values=b'"' in self.content,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types, include_columns=list(types), null_values=[], strings_can_be_null=False
                ),
            )
        except pa.ArrowInvalid:
            raise _IrregularFileError from None

    def _checked_text(self, column: Any, kind: Kind) -> Any:
        if not self.content.isascii() or any(blank in self.content for blank in (b" ", b"\t", b"\v", b"\f")):
            column = pc.utf8_trim_whitespace(column)
        empty = kind == "name" and pc.min(pc.binary_length(column)).as_py() == 0
        if empty or (b'"' in self.content and pc.any(pc.match_substring(column, "\n")).as_py()):
            raise _IrregularFileError
        return column

    def _regular_content(self, heading: bool) -> bytes:
        """The rows below the heading in the form that pyarrow reads: no comments, and one blank between cells."""
        content = self.content
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        skipped = self.head[1 if heading else 0][0] - 1
        content = content.split(b"\n", skipped)[skipped]
        if content.count(b'"') % 2:  # an unclosed quotation mark would join the lines up to the next one
            raise _IrregularFileError
        if b"#" in content or b"%" in content:
            if b'"' in content:
                raise _IrregularFileError
            content = (COMMENT_LINE_OF_TABS if self.separator == "\t" else COMMENT_LINE).sub(b"", content)
        if self.separator is None:
            content = content.replace(b"\t", b" ")
            while b"  " in content:
                content = content.replace(b"  ", b" ")
            content = content.strip(b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n")
        return content

    def _parse_by_line(self, kinds: Mapping[int, Kind], heading: bool, words: Mapping[Kind, str]) -> list[Any]:
        width = len(self.head[0][1])
        columns: dict[int, list[Any]] = {i: [] for i in kinds}
        for number, cells in itertools.islice(self.rows(), int(heading), None):
            line = f"{self.path}, line {number}"
            if len(cells) != width:
                raise GraphFileError(f"{line}: expected {width} columns, as in the first line, found {len(cells)}.")
            for i, kind in kinds.items():
                cell = cells[i].strip()
                if kind == "name" and not cell:
                    raise GraphFileError(f"{line}: expected {words[kind]}, found an empty name.")
                if kind == "number" and not is_number(cell):
                    raise GraphFileError(f"{line}: expected {words[kind]}, found {cell[:40]!r}.")
                columns[i].append(float(cell) if kind == "number" else cell)
        return [
            np.array(columns[i]) if kind == "number" else pa.chunked_array([columns[i]], pa.utf8())
            for i, kind in kinds.items()
        ]


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
