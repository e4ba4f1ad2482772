"""Delimited text (CSV, TSV, blanks), perhaps compressed, as columns of text, parsed by pyarrow block by block.

- The separator is a tab, semicolon, comma or vertical bar: the first of these in the first line, outside quotation
  marks; otherwise blanks.
- Cells may be quoted. A quoted cell is taken as it stands; from others blanks at both ends are removed.
- Empty lines are skipped, and lines that start with an unquoted ``#`` or ``%``, which are comments. But a line such as
  ``#art,ann``, with the columns of the table and no blank after the mark, is a row; above the first row it is a doubt.
- A block that pyarrow does not read in this way is read again line by line: slower, but an error then names its line.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.io.undirected import name_source_in_errors

__all__ = [
    "CODECS",
    "DelimitedFile",
    "compressed",
    "ending_of",
    "is_compressed",
    "is_number",
    "read_content",
    "stem_of",
]

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
UNPACKED_LIMIT = 16 * 2**30  # bytes that a compressed file which is read whole may unpack to
BLOCK = 2**25  # bytes of text read together
PARSED = 2**22  # bytes that a thread of pyarrow parses at a time
CELL_LIMIT = 2**17  # characters of a cell: a quotation mark that is open for longer is a mistake
MARKS = "\t;,|"
BLANKS = " \t\v\f\u00a0"
COMMENT_LINE = re.compile(rb"^[ \t]*[#%].*\n?", re.MULTILINE)
MARKED_ROW = re.compile(r"[#%][^#%\s]")  # how a row may start that is no comment
COMMENT_LINE_OF_TABS = re.compile(rb"^ *[#%].*\n?", re.MULTILINE)  # where a tab ends an empty first cell
QUOTED = re.compile(rb'"[^"]*"')
CLOSED = re.compile(r'"[^"]*(?:""[^"]*)*"(?!")')


def is_compressed(path: Path) -> bool:
    """Whether a file has the ending of a compressed file."""
    return path.suffix.lower() in CODECS


def ending_of(path: Path) -> str:
    """The ending that determines the format: ``.csv`` for ``edges.csv.gz``."""
    return (Path(path.stem) if is_compressed(path) else path).suffix.lower()


def stem_of(path: Path) -> str:
    """The name of a file without its endings: ``edges`` for ``edges.csv.gz``."""
    return Path(path.stem).stem if is_compressed(path) else path.stem


def read_blocks(path: Path, *, limited: bool) -> Iterator[bytes]:
    """The bytes of a file, unpacked if it has the ending of a compressed file, within UNPACKED_LIMIT if `limited`."""
    codec, size = CODECS.get(path.suffix.lower()), 0
    with name_source_in_errors(path), pa.input_stream(str(path), compression=codec) as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            if codec and limited and size > UNPACKED_LIMIT:
                raise GraphError(f"expected a file that unpacks to at most {UNPACKED_LIMIT:,} bytes, found more.")
            yield block


def read_content(path: Path) -> bytes:
    """The bytes of a file, unpacked."""
    return b"".join(read_blocks(path, limited=True))


def compressed(content: bytes, path: Path) -> bytes:
    """Content, compressed if the ending of a path requires it."""
    if not is_compressed(path):
        return content
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, CODECS[path.suffix.lower()]) as stream:
        stream.write(content)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def is_number(text: Any) -> bool:
    """Whether Python reads a value, such as text, as a number."""
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


class _IrregularBlockError(Exception):
    """A block that only the line-by-line reader handles."""


class DelimitedFile:
    """A delimited text file and the layout of its rows.

    Args:
        path: Path of the file.
        limited: Whether a compressed file may only unpack to what fits in memory.

    Attributes:
        separator: Character between cells; None for blanks.
        first: Cells of the first row; None in a file without rows.
    """

    def __init__(self, path: str | Path, *, limited: bool = True) -> None:
        self.path, self._limited = Path(path), limited
        content = next(self._blocks(), b"")
        lines = (line for line in io.BytesIO(content) if line.strip())
        first = QUOTED.sub(b"", next((line for line in lines if not line.lstrip().startswith((b"#", b"%"))), b""))
        self.separator = next((mark for mark in MARKS if mark.encode() in first), None)
        mark = re.escape(self.separator or " ")
        self._cell = re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|(?!")([^{mark}\r\n]*))({mark}|\r\n?|\n|\Z)')
        self._comment = re.compile(r"[ ]*[#%]" if self.separator == "\t" else r"[ \t]*[#%]")
        starts = [(position, cells) for _, position, cells in itertools.islice(self._rows(content, None), 2)]
        self.first = starts[0][1] if starts else None
        self._starts = [position for position, _ in starts] + [len(content)] * (2 - len(starts))

    def place(self, row: int) -> str:
        """Where a row is, for messages; rows are numbered from 0."""
        numbers = itertools.chain.from_iterable(
            (line for line, *_ in self._rows(block, before and self._width, before))
            for before, block in self._counted()
        )
        return f"{self.path}, line {next(itertools.islice(numbers, row, None), row + 1)}"

    def tables(self, skip: int = 0) -> Iterator[pa.Table]:
        """The columns of blocks of rows, without the first `skip` ones, which are 0 or 1."""
        for before, block in self._counted():
            content = block if before else block[self._starts[skip] :]
            try:
                yield self._parse(self._regular(content))
            except _IrregularBlockError:
                rows = self._rows(block, before and self._width, before)
                yield self._by_line(rows if before else itertools.islice(rows, skip, None))

    @property
    def _width(self) -> int:
        return len(self.first or ())

    def _blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines that end outside quotation marks."""
        rest, start = b"", b"\xef\xbb\xbf"
        for block in read_blocks(self.path, limited=self._limited):
            rest += block
            end = rest.rfind(b"\n") + 1
            if end and rest.count(b'"', 0, end) % 2 == 0:
                yield rest[:end].removeprefix(start)
                rest, start = rest[end:], b""
        if rest:
            yield rest.removeprefix(start)

    def _counted(self) -> Iterator[tuple[int, bytes]]:
        """Blocks with the number of lines before each."""
        lines = 0
        for block in self._blocks():
            yield lines, block
            lines += block.count(b"\n")

    def _rows(self, content: bytes, width: int | None, before: int = 0) -> Iterator[tuple[int, int, list[str]]]:
        """Number of the first line, its position in bytes, and the cells of every row.

        Args:
            content: A block of lines.
            width: Number of columns; None for the first block, where comments above the first row may be doubtful.
            before: Number of lines before the block.
        """
        number, position = before, 0
        width = width or None
        doubtful: list[tuple[int, str]] = []
        lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
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
            valid = re.split("[\udc80-\udcff]", content.decode(errors="surrogateescape"), maxsplit=1)[0]
            number = before + valid.count("\n") + 1
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

    def _regular(self, content: bytes) -> bytes:
        """A block in the form that pyarrow reads: no comments, and one blank between cells."""
        quoted = b'"' in content
        if b"\r" in content and not quoted:
            content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if quoted and (self.separator is None or content.count(b'"') % 2):
            raise _IrregularBlockError  # an open quotation mark would join the lines up to the next one
        if b"#" in content or b"%" in content:
            pattern = COMMENT_LINE_OF_TABS if self.separator == "\t" else COMMENT_LINE
            comments = pattern.findall(content.replace(b"\r", b"\n"))
            if comments and (quoted or any(MARKED_ROW.match(line.decode(errors="replace")) for line in comments)):
                raise _IrregularBlockError
            content = content if quoted else pattern.sub(b"", content)
        if self.separator is None:
            content = content.replace(b"\t", b" ")
            while b"  " in content:
                content = content.replace(b"  ", b" ")
            content = content.strip(b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n")
        return content

    def _parse(self, content: bytes) -> pa.Table:
        """The columns of a regular block, freed of blanks at both ends of cells that are not quoted."""
        names = [str(i) for i in range(self._width)]
        if not content:
            return pa.table({name: pa.array([], pa.utf8()) for name in names})
        quoted = b'"' in content
        types = dict.fromkeys(names, pa.utf8())
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(content),
                read_options=arrow_csv.ReadOptions(column_names=names, block_size=PARSED),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.separator or " ",
                    quote_char='"' if self.separator else False,
                    newlines_in_values=quoted,
                ),
                convert_options=arrow_csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
            )
        except pa.ArrowInvalid:
            raise _IrregularBlockError from None
        if not any(mark.encode() in content for mark in BLANKS if mark != self.separator):
            return table
        trimmed = [pc.utf8_trim(column, BLANKS) for column in table.columns]
        if quoted and any(not c.equals(other) for c, other in zip(table.columns, trimmed, strict=True)):
            raise _IrregularBlockError  # only the line-by-line reader knows which of the cells was quoted
        return pa.table(trimmed, table.column_names)

    def _by_line(self, rows: Iterator[tuple[int, int, list[str]]]) -> pa.Table:
        columns: list[list[str]] = [[] for _ in range(self._width)]
        for number, _, cells in rows:
            if len(cells) != self._width:
                raise GraphFileError(
                    f"{self.path}, line {number}: expected {self._width} columns, as in the first line, found "
                    f"{len(cells)}."
                )
            for column, cell in zip(columns, cells, strict=True):
                column.append(cell)
        return pa.table({str(i): pa.array(column, pa.utf8()) for i, column in enumerate(columns)})
