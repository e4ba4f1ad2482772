"""Edges of a file, block by block: graphs whose edge list does not fit into memory.

| source | content |
|---|---|
| .csv .tsv .txt .tab .edges .edgelist, also compressed | two integers per line, perhaps a weight, perhaps a heading |
| .parquet | the same columns |
| .npy | integers (E, 2) or (2, E) |
| a folder of mapped arrays | its edges and weights, see `folder` |

Nodes are numbered from 0; a number without an edge is a node without neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.array_file import ArrayFile
from kappagcn.graphs.io.compressed import ending_of
from kappagcn.graphs.io.delimited import INTEGER, DelimitedFile
from kappagcn.graphs.io.edge_table import edge_positions
from kappagcn.graphs.io.folder import is_graph_folder
from kappagcn.graphs.io.tables import DELIMITED, Table, read_table
from kappagcn.graphs.io.undirected import Array, name_source_in_errors

__all__ = ["EdgeBlock", "EdgeStream", "open_edges"]

EdgeBlock = tuple[Array, Array, Array | None]
"""Sources, targets and weights of some edges, (B,) each."""
BLOCK = 2**22  # edges
TEXT_BLOCK = 2**25  # bytes
SAMPLE = 2**16  # bytes from which the layout of a text file is seen


@dataclass(frozen=True)
class EdgeStream:
    """Edges that are read block by block, as often as needed.

    Attributes:
        name: The source, for messages.
        blocks: Function that starts reading.
        weighted: Whether edges have weights.
        edges: Number of edges; None if it is not known before reading.
    """

    name: str
    blocks: Callable[[], Iterator[EdgeBlock]]
    weighted: bool
    edges: int | None = None

    @classmethod
    def of_arrays(cls, name: str, sources: Array, targets: Array, weights: Array | None = None) -> EdgeStream:
        """A stream of edges in memory.

        >>> import numpy as np
        >>> stream = EdgeStream.of_arrays("pair", np.array([0]), np.array([1]))
        >>> [block[0].tolist() for block in stream.blocks()]
        [[0]]
        """

        def blocks() -> Iterator[EdgeBlock]:
            for start in range(0, len(sources), BLOCK):
                some = slice(start, start + BLOCK)
                yield sources[some], targets[some], None if weights is None else weights[some]

        return cls(name, blocks, weights is not None, len(sources))


def open_edges(path: Path, *, header: bool | None = None) -> EdgeStream | None:
    """The edges of a file or folder as a stream; None for a format that has to be read whole.

    Args:
        path: The file or folder.
        header: Whether a text file has a heading; None to detect it.
    """
    if is_graph_folder(path):
        return _folder_stream(path)
    if not path.is_file():
        raise GraphFileError(f"expected a file, found {'a folder' if path.is_dir() else 'nothing'} at {str(path)!r}.")
    ending = ending_of(path)
    if ending in DELIMITED:
        return _text_stream(path, header)
    if ending == ".parquet":
        return _parquet_stream(path)
    return _array_stream(path) if ending == ".npy" else None


def _folder_stream(path: Path) -> EdgeStream:
    edges = ArrayFile(path / "edge_index.npy")
    weights = ArrayFile(path / "edge_weight.npy") if (path / "edge_weight.npy").is_file() else None

    def blocks() -> Iterator[EdgeBlock]:
        for start in range(0, edges.shape[1], BLOCK):
            stop = min(start + BLOCK, edges.shape[1])
            sources, targets = (edges.read(start, stop, plane=side) for side in (0, 1))
            once = sources < targets  # the folder has both directions
            some = None if weights is None else weights.read(start, stop)[once]
            yield sources[once], targets[once], some

    return EdgeStream(str(path), blocks, weights is not None, edges.shape[1] // 2)


def _array_stream(path: Path) -> EdgeStream | None:
    with name_source_in_errors(path, "a NumPy array"):
        edges = ArrayFile(path)
    if edges.dtype.kind not in "iu" or len(edges.shape) != 2 or 2 not in edges.shape:
        return None  # perhaps a matrix
    by_row = edges.shape[1] == 2
    count = edges.shape[0] if by_row else edges.shape[1]

    def blocks() -> Iterator[EdgeBlock]:
        for start in range(0, count, BLOCK):
            stop = min(start + BLOCK, count)
            if by_row:
                pairs = edges.read(start, stop)
                yield pairs[:, 0], pairs[:, 1], None
            else:
                yield edges.read(start, stop, plane=0), edges.read(start, stop, plane=1), None

    return EdgeStream(str(path), blocks, False, count)


def _parquet_stream(path: Path) -> EdgeStream:
    from pyarrow import parquet

    with name_source_in_errors(path, "a Parquet file"), parquet.ParquetFile(path) as file:
        headings, count = file.schema_arrow.names, file.metadata.num_rows
    if len(headings) < 2:
        raise GraphFileError(f"{path}: expected a column of sources and one of targets, found {len(headings)} columns.")
    empty = Table(pa.table({name: [] for name in headings}), headings, lambda row: f"row {row}")
    source, target, weight, _ = edge_positions(empty)
    names = [headings[i] for i in (source, target, weight) if i is not None]

    def blocks() -> Iterator[EdgeBlock]:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BLOCK, columns=names):
                yield _columns([batch.column(name) for name in names], path)

    return EdgeStream(str(path), blocks, weight is not None, count)


def _columns(columns: list[Any], path: Path) -> EdgeBlock:
    """Integer ends and perhaps weights from columns of pyarrow."""
    if not all(pa.types.is_integer(each.type) and not each.null_count for each in columns[:2]):
        raise GraphFileError(
            f"{path}: expected nodes as integers from 0 in every row, found {columns[0].type} and {columns[1].type}, "
            "or empty cells. Number the nodes first."
        )
    sources, targets = (each.cast(pa.int64()).to_numpy(zero_copy_only=False) for each in columns[:2])
    weights = columns[2].cast(pa.float64()).to_numpy(zero_copy_only=False) if len(columns) == 3 else None
    return sources, targets, weights


def _text_stream(path: Path, header: bool | None) -> EdgeStream | None:
    with name_source_in_errors(path, "text"), pa.input_stream(str(path), compression="detect") as file:
        content = file.read(SAMPLE)
    whole = len(content) < SAMPLE or b"\n" not in content
    sample = DelimitedFile(path, content if whole else content[: content.rindex(b"\n") + 1])
    table = read_table(sample, nodes=2, header=header, expected="edges")
    if table.heading is None and table.width > 3:
        raise GraphFileError(
            f"{table.place(0)}: expected two nodes and perhaps a weight per line, found {table.width}."
        )
    source, target, weight, _ = edge_positions(table)
    first = [str(column[0]) for column in table.columns.columns]
    separator = sample.separator or " "
    if not all(INTEGER.fullmatch(first[i]) for i in (source, target)) or (separator == " " and b"  " in content):
        return None  # words, or a layout that can be read only from the whole file
    used = [i for i in (source, target, weight) if i is not None]
    types = {str(i): pa.float64() if i == weight else pa.int64() for i in used}

    def blocks() -> Iterator[EdgeBlock]:
        try:
            with pa.input_stream(str(path), compression="detect") as file:
                reader = arrow_csv.open_csv(
                    file,
                    arrow_csv.ReadOptions(
                        use_threads=False,
                        block_size=TEXT_BLOCK,
                        skip_rows=sample.line(int(table.heading is not None)) - 1,
                        column_names=[str(i) for i in range(table.width)],
                    ),
                    arrow_csv.ParseOptions(delimiter=separator, invalid_row_handler=_skip_comments),
                    arrow_csv.ConvertOptions(column_types=types, include_columns=[str(i) for i in used]),
                )
                for batch in reader:
                    yield _columns(batch.columns, path)
        except pa.ArrowInvalid as error:
            raise GraphFileError(
                f"{path}: expected two integers per line, and perhaps a weight, found other cells ({error}). Nodes "
                "that are words have to be numbered first: kappagcn data convert does."
            ) from None

    return EdgeStream(str(path), blocks, weight is not None)


def _skip_comments(row: Any) -> str:
    return "skip" if row.text.lstrip().startswith(("#", "%")) else "error"
