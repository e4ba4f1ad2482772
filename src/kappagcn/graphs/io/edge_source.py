"""Edges of a table that is larger than memory, in batches; pyarrow reads them in the layout of the first rows.

| source | how it is read |
|---|---|
| .csv .tsv .txt .tab .edges .edgelist, also .gz .zst .bz2 | row by row |
| .parquet | by columns |
| .npy | integers (E, 2) |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from pyarrow import parquet

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.compressed import ending_of
from kappagcn.graphs.io.delimited import BLANKS
from kappagcn.graphs.io.dialect import read_dialect
from kappagcn.graphs.io.edge_table import USUAL, EdgeColumns, edge_positions
from kappagcn.graphs.io.tables import Table
from kappagcn.graphs.io.undirected import name_source_in_errors

__all__ = ["BATCH", "EdgeSource", "open_edges"]

SAMPLE = 2**18  # bytes of a text file that show its layout
BATCH = 2**20  # rows
TEXT_BLOCK = 2**24  # bytes


@dataclass(frozen=True)
class EdgeSource:
    """Edges that are read in batches of two or three columns: source, target and perhaps weight.

    Attributes:
        batches: Function that starts reading.
        integers: Whether the nodes of the first rows are integers.
        weighted: Whether there is a column of weights.
        trimmed: Whether blanks around a cell do not count.
    """

    batches: Callable[[], Iterator[pa.RecordBatch]]
    integers: bool
    weighted: bool
    trimmed: bool = False


def open_edges(path: Path, columns: EdgeColumns = USUAL) -> EdgeSource:
    """The edges of a file."""
    ending = path.suffix if path.suffix in (".npy", ".parquet") else ending_of(path)
    if ending == ".npy":
        return _array_source(path)
    return _parquet_source(path, columns) if ending == ".parquet" else _text_source(path, columns)


def _array_source(path: Path) -> EdgeSource:
    pairs = np.load(path, mmap_mode="r", allow_pickle=False)
    if pairs.dtype.kind not in "iu" or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GraphFileError(f"{path}: expected integers (E, 2), found {pairs.dtype} {pairs.shape}.")

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, len(pairs), BATCH):
            block = np.load(path, mmap_mode="r")[start : start + BATCH]  # mapped anew, so that its pages are freed
            yield pa.record_batch([pa.array(block[:, side].astype(np.int64)) for side in (0, 1)], ["s", "t"])

    return EdgeSource(batches, integers=True, weighted=False)


def _parquet_source(path: Path, columns: EdgeColumns) -> EdgeSource:
    with name_source_in_errors(path, "a Parquet file"), parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
    table = Table(schema.empty_table(), schema.names, lambda row: f"{path}, row {row}")
    used = [schema.names[i] for i in edge_positions(table, columns)[:3] if i is not None]
    integers = all(pa.types.is_integer(schema.field(name).type) for name in used[:2])

    def batches() -> Iterator[pa.RecordBatch]:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH, columns=used):
                yield _named([batch.column(name) for name in used])

    return EdgeSource(batches, integers, len(used) == 3)


def _text_source(path: Path, columns: EdgeColumns) -> EdgeSource:
    layout = read_dialect(path, header=columns.header)
    table = layout.sample
    if table.heading is None and table.width > 3 and not columns.names():
        raise GraphFileError(
            f"{table.place(0)}: expected two columns, or three with weights, found {table.width}. "
            "Add a heading with source, target and weight."
        )
    used = [i for i in edge_positions(table, columns)[:3] if i is not None]
    names = [str(i) for i in range(table.width)]
    with pa.input_stream(str(path), compression=layout.compression) as file:
        content = file.read(SAMPLE)
    if layout.delimiter == " " and re.search(rb"  |\t", content):
        raise GraphFileError(f"{path}: expected one blank between columns of a large file, found several, or tabs.")
    if re.search(rb'"[ \t]+[^ \t,;|]|[^ \t,;|][ \t]+"', content):
        raise GraphFileError(f"{path}: expected no blanks at the ends of quoted cells of a large file, found some.")
    read = arrow_csv.ReadOptions(use_threads=False, block_size=TEXT_BLOCK, skip_rows=layout.skip, column_names=names)
    parse = arrow_csv.ParseOptions(delimiter=layout.delimiter, invalid_row_handler=_skip_comments)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.utf8()),
        include_columns=[names[i] for i in used],
        strings_can_be_null=False,
    )

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            with pa.input_stream(str(path), compression=layout.compression) as file:
                for batch in arrow_csv.open_csv(file, read, parse, convert):
                    yield _named(batch.columns)
        except pa.ArrowInvalid as error:
            raise GraphFileError(
                f"{path}: expected {table.width} columns in every line, found others ({error})."
            ) from None

    integers = all(pa.types.is_integer(table.columns.column(i).type) for i in used[:2])
    blanks = any(mark.encode() in content for mark in BLANKS if mark != layout.delimiter)
    return EdgeSource(batches, integers, len(used) == 3, trimmed=blanks)


def _skip_comments(row: Any) -> str:
    return "skip" if row.text.lstrip().startswith(("#", "%")) else "error"


def _named(columns: list[pa.Array]) -> pa.RecordBatch:
    return pa.record_batch(columns, ["s", "t", "w"][: len(columns)])
