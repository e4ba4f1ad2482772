"""The layout of a delimited text file, as other readers of such files need it, from its first rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kappagcn.graphs.io.compressed import CODECS
from kappagcn.graphs.io.delimited import DelimitedFile
from kappagcn.graphs.io.tables import Table, read_table
from kappagcn.graphs.io.undirected import name_source_in_errors

__all__ = ["Dialect", "read_dialect"]

SAMPLE = 2**18  # bytes


@dataclass(frozen=True)
class Dialect:
    """The layout of a delimited text file.

    Attributes:
        delimiter: Character between cells; a blank where any number of blanks separates them.
        heading: Names of the columns; None without a heading.
        width: Number of columns.
        skip: Lines above the first row of values: the heading, comments and empty lines.
        comment: Mark at the start of comments, ``#`` or ``%``; empty where the sample has none.
        quoted: Whether cells of the sample are in quotation marks.
        compression: Name of the compression, ``gzip``, ``zstd`` or ``bz2``; None for a plain file.
        sample: The first rows, as `tables.read_table` gives them.
    """

    delimiter: str
    heading: list[str] | None
    width: int
    skip: int
    comment: str
    quoted: bool
    compression: str | None
    sample: Table


def read_dialect(path: Path, *, nodes: int = 2, header: bool | None = None) -> Dialect:
    r"""The layout of a text file; arguments as in `tables.read_table`, whose rule for headings applies.

    Raises:
        GraphFileError: The first row may be a heading or not, or the file is no table.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "edges.csv"
    ...     _ = file.write_text("# friends\nsource;target\nann;bob\n")
    ...     dialect = read_dialect(file)
    >>> dialect.delimiter, dialect.heading, dialect.skip, dialect.comment
    (';', ['source', 'target'], 2, '#')
    """
    compression = CODECS.get(path.suffix.lower())
    with name_source_in_errors(path), pa.input_stream(str(path), compression=compression) as stream:
        content = stream.read(SAMPLE)
    end = content.rfind(b"\n") + 1 if len(content) == SAMPLE else 0
    file = DelimitedFile(path, content[: end or len(content)])
    table = read_table(file, nodes=nodes, header=header)
    comments = {line.lstrip()[:1].decode() for line in file.content.split(b"\n") if line.lstrip()[:1] in (b"#", b"%")}
    return Dialect(
        file.separator or " ",
        table.heading,
        table.width,
        file.line(int(table.heading is not None)) - 1,
        max(comments, default=""),
        b'"' in file.content,
        compression,
        table,
    )
