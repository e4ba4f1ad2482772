"""Tables of edges larger than memory become a mapped folder: DuckDB sorts them under a limit of memory.

Nodes are numbered as in `read_graph`: integers in their order, all others in order of appearance. Features and labels
are .npy files whose row i is node i.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.io.compressed import ending_of, stem_of
from kappagcn.graphs.io.edge_source import BATCH, EdgeSource, open_edges
from kappagcn.graphs.io.edge_table import USUAL, EdgeColumns
from kappagcn.graphs.io.folder import array_file, new_folder, write_about
from kappagcn.graphs.io.formats import TABLES
from kappagcn.graphs.io.tables import ODD_ID
from kappagcn.graphs.io.undirected import Array, counted, name_source_in_errors

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["MEMORY", "convert_table", "is_streamed"]

MEMORY = 2**30  # bytes that DuckDB may use
STREAMED = 2**26  # bytes from which a table is streamed; smaller ones are read whole
GAPS = 8  # most possible integers per edge for numbering by position; above it, nodes are looked up in a table
NODE_LIMIT = 2**31


def is_streamed(path: Path) -> bool:
    """Whether a file is a table of edges too large to be read whole."""
    known = ending_of(path) in TABLES or path.suffix == ".npy"
    return known and path.is_file() and path.stat().st_size >= STREAMED


def convert_table(
    path: str | Path,
    folder: str | Path,
    *,
    columns: EdgeColumns = USUAL,
    features: str | Path | None = None,
    labels: str | Path | None = None,
    half: bool = False,
    memory: int = MEMORY,
) -> Path:
    """Write a table of edges as a mapped folder (`kappagcn.graphs.io.folder`), within a limit of memory.

    Args:
        path: Table of edges.
        folder: A folder that does not exist yet, or is empty.
        columns: Names of the columns, where the usual names do not say so.
        features: A .npy file, (N, D), whose row i is node i.
        labels: A .npy file of classes, (N,), −1 for none.
        half: Whether to keep features as float16.
        memory: Bytes that DuckDB may use; more goes to temporary files beside `folder`.
    """
    path, folder = Path(path), Path(folder)
    if importlib.util.find_spec("duckdb") is None:
        raise GraphFileError(
            f"{path}: expected DuckDB for a table of {path.stat().st_size / 2**20:,.0f} MiB, found it missing. "
            "Install it: pip install 'kappagcn[large]'."
        )
    with name_source_in_errors(path):
        source = open_edges(path, columns)
    rows = None if features is None and labels is None else _rows_of(features, labels)
    with (
        new_folder(folder) as target,
        tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as scratch,
        _connection(Path(scratch), memory) as connection,
        name_source_in_errors(path),
    ):
        graph = _Sort(connection, source, target)
        nodes, edges, loops, names = graph.load(rows)
        entries, isolated = graph.write(nodes)
        if names is not None:
            np.save(target / "node_names.npy", names)
        for name, file in (("features", features), ("labels", labels)):
            if file is not None:
                _copy_rows(Path(file), target / f"{name}.npy", half=half and name == "features")
        remarks = {
            f"{counted(nodes, 'node')}, {counted(entries // 2, 'edge')}": True,
            f"{counted(edges - loops - entries // 2, 'repeated or reversed edge')} merged": 2 * (edges - loops)
            > entries,
            f"{counted(loops, 'self-loop')} removed": loops,
            "weighted": graph.weighted,
            counted(isolated, "isolated node"): isolated,
        }
        report = "; ".join(remark for remark, applies in remarks.items() if applies)
        write_about(target, nodes=nodes, report=report, name=stem_of(path))
    return folder


def _connection(scratch: Path, memory: int) -> DuckDBPyConnection:
    import duckdb

    settings: dict[str, str | int] = {
        "memory_limit": f"{memory}B",
        "temp_directory": str(scratch / "spill"),
        "threads": 1,
    }
    return duckdb.connect(str(scratch / "edges.duckdb"), config={**settings, "temp_directory": str(scratch / "spill")})


class _Sort:
    """The edges in a table of DuckDB, and the symmetric adjacency from it.

    Args:
        connection: A database with a limit of memory.
        source: The edges.
        target: Folder for the arrays.
    """

    def __init__(self, connection: DuckDBPyConnection, source: EdgeSource, target: Path) -> None:
        self.connection, self.source, self.target, self.weighted = connection, source, target, source.weighted

    def load(self, rows: int | None) -> tuple[int, int, int, Array | None]:
        """Numbers of nodes, edges and self-loops, and the names of the nodes, None where these are their numbers.

        Afterwards the table ``edges`` has numbered nodes.
        """
        if not (self.source.integers and self._load_integers()):
            self._load_text()
        edges, loops = self._one("SELECT count(*), coalesce(count(*) FILTER (WHERE s = t), 0) FROM edges")
        if self.weighted:
            self._check_weights()
        if not edges:
            return rows or 0, 0, 0, None
        is_text = self._one("SELECT typeof(s) FROM edges LIMIT 1")[0] == "VARCHAR"
        names = None if is_text else self._consecutive_integers(edges, rows)
        if names is not None:
            return len(names), edges, loops, None if names.start == 0 else np.arange(names.start, names.stop)
        if rows is not None:
            raise GraphError(f"expected nodes as numbers from 0 to {rows - 1}, the rows of features and labels.")
        order = self._number_nodes(is_text)
        return len(order), edges, loops, order

    def _one(self, query: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self.connection.sql(query).fetchall()[0]
        return row

    def _import(self, node: Callable[[str], str]) -> None:
        """Make the table ``edges``; `node` is the expression of a node from its column."""
        batches = self.source.batches()
        first = next(batches, None)
        if first is None:
            first = pa.record_batch([pa.array([], pa.int64())] * 2, ["s", "t"])
        reader = pa.RecordBatchReader.from_batches(first.schema, _chained(first, batches))
        weight = ", CAST(w AS DOUBLE) AS w" if self.weighted else ""
        self.connection.register("reader", reader)
        try:
            self.connection.execute(
                f"CREATE OR REPLACE TABLE edges AS SELECT {node('s')} AS s, {node('t')} AS t{weight} FROM reader"
            )
        finally:
            self.connection.unregister("reader")

    def _load_integers(self) -> bool:
        """Read nodes as integers; False if one is in another form than its usual one, such as 007."""
        import duckdb

        def integer(name: str) -> str:
            usual = f"CAST(TRY_CAST({name} AS BIGINT) AS VARCHAR) = CAST({self._cell(name)} AS VARCHAR)"
            return f"CASE WHEN {usual} THEN TRY_CAST({name} AS BIGINT) ELSE error('no integer') END"

        try:
            self._import(integer)
        except duckdb.InvalidInputException as error:
            if "no integer" not in str(error):
                raise
            return False
        return True

    def _load_text(self) -> None:
        """Read nodes as text, integers in their usual form; as integers where all of them are."""

        def text(name: str) -> str:
            cell = f"CAST({self._cell(name)} AS VARCHAR)"
            usual = f"CAST(CAST(CAST({cell} AS DOUBLE) AS BIGINT) AS VARCHAR)"
            full = f"CASE WHEN {cell} IS NULL OR {cell} = '' THEN error('a node in every row') ELSE {cell} END"
            return f"CASE WHEN regexp_matches({cell}, '{ODD_ID}') THEN {usual} ELSE {full} END"

        try:
            self._import(text)
        except Exception as error:
            if "a node in every row" in str(error):
                raise GraphFileError("expected two nodes in every row, found an empty name.") from None
            raise
        usual = "CAST(TRY_CAST({0} AS BIGINT) AS VARCHAR) = {0}"
        all_integers = " AND ".join(f"bool_and(coalesce({usual.format(name)}, false))" for name in ("s", "t"))
        if self._one(f"SELECT {all_integers} FROM edges")[0]:
            self.connection.execute("ALTER TABLE edges ALTER s TYPE BIGINT; ALTER TABLE edges ALTER t TYPE BIGINT")

    def _cell(self, name: str) -> str:
        return f"trim({name}, ' \t\u00a0')" if self.source.trimmed else name

    def _check_weights(self) -> None:
        bad, first, ones = self._one(
            "SELECT count(*) FILTER (WHERE wrong), first(w) FILTER (WHERE wrong), bool_and(w = 1) FROM (SELECT w, "
            "coalesce(NOT (isfinite(TRY_CAST(w AS FLOAT)) AND CAST(w AS FLOAT) > 0), true) AS wrong FROM edges)"
        )
        if bad:
            raise GraphError(
                f"expected weights that are positive and finite, found {first} ({counted(bad, 'such edge')})."
            )
        self.weighted = not ones

    def _consecutive_integers(self, edges: int, rows: int | None) -> range | None:
        """The integers that nodes are, if none is left out; with rows of features, all numbers of rows."""
        low, high = self._one("SELECT min(least(s, t)), max(greatest(s, t)) FROM edges")
        if rows is not None:
            if not 0 <= low <= high < rows:
                raise GraphError(f"expected nodes from 0 to {rows - 1}, found {low} to {high}.")
            return range(rows)
        if not 0 <= high - low < max(GAPS * edges, 2**16):
            return None
        occurs = np.zeros(high - low + 1, bool)
        for batch in self.connection.sql("SELECT s, t FROM edges").to_arrow_reader(BATCH):
            for column in batch.columns:
                occurs[column.to_numpy() - low] = True
        if not occurs.all():
            return None
        if low:
            self.connection.execute(f"UPDATE edges SET s = s - {low}, t = t - {low}")
        return range(low, high + 1)

    def _number_nodes(self, is_text: bool) -> Array:
        """Number all nodes in the table ``edges``; returns their names, in the order of the numbers."""
        order = "min(place)" if is_text else "id"
        ends = "SELECT s AS id, 2 * rowid AS place FROM edges UNION ALL SELECT t, 2 * rowid + 1 FROM edges"
        weight = ", w" if self.weighted else ""
        self.connection.execute(
            f"CREATE TABLE nodes AS SELECT id, row_number() OVER (ORDER BY {order}) - 1 AS n FROM ({ends}) GROUP BY id;"
            f"CREATE TABLE numbered AS SELECT a.n AS s, b.n AS t{weight} FROM edges "
            "JOIN nodes a ON a.id = s JOIN nodes b ON b.id = t;"
            "DROP TABLE edges; ALTER TABLE numbered RENAME TO edges"
        )
        names: Array = self.connection.sql("SELECT id FROM nodes ORDER BY n").to_arrow_table().column(0).to_numpy()
        return names.astype(np.str_) if is_text else names

    def write(self, nodes: int) -> tuple[int, int]:
        """Write the symmetric adjacency without self-loops and repeated edges, whose weights are averaged.

        Returns:
            The numbers of entries and of nodes without any.
        """
        if nodes >= NODE_LIMIT:
            raise GraphError(f"expected fewer than {NODE_LIMIT:,} nodes, found {nodes:,}.")
        directions = " UNION ALL ".join(
            f"SELECT ({a}::UBIGINT << 32) | {b}::UBIGINT AS key{', w' if self.weighted else ''} FROM edges WHERE s <> t"
            for a, b in (("s", "t"), ("t", "s"))
        )
        value = ", avg(w) AS w" if self.weighted else ""
        query = f"SELECT key{value} FROM ({directions}) {'GROUP BY key' if self.weighted else ''} ORDER BY key"
        self.connection.execute("SET preserve_insertion_order = false")
        degrees, strengths = np.zeros(nodes, np.int64), np.zeros(nodes if self.weighted else 0)
        entries, last = 0, -1
        with (self.target / "entries").open("wb") as columns, (self.target / "values").open("wb") as values:
            for batch in self.connection.sql(query).to_arrow_reader(BATCH):
                keys = batch.column(0).to_numpy()
                first = np.ones(len(keys), bool)  # equal keys follow one another
                np.not_equal(keys[1:], keys[:-1], out=first[1:])
                first[:1] &= keys[:1].astype(object) != last
                last, keys = int(keys[-1]) if len(keys) else last, keys[first]
                rows = (keys >> np.uint64(32)).astype(np.int64)
                (keys & np.uint64(2**32 - 1)).astype(np.int32).tofile(columns)
                entries += len(keys)
                low = int(rows[0]) if len(rows) else 0
                local = np.bincount(rows - low)
                degrees[low : low + len(local)] += local
                if self.weighted:
                    weights = batch.column(1).to_numpy()[first].astype(np.float32)
                    weights.tofile(values)
                    strengths[low : low + len(local)] += np.bincount(rows - low, weights)
        np.save(self.target / "indptr.npy", np.concatenate([[0], np.cumsum(degrees)]))
        _with_header(self.target / "entries", self.target / "indices.npy", np.int32, entries)
        if self.weighted:
            _with_header(self.target / "values", self.target / "weights.npy", np.float32, entries)
            np.save(self.target / "strengths.npy", strengths.astype(np.float32))
        (self.target / "values").unlink(missing_ok=True)
        return entries, int((degrees == 0).sum())


def _chained(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others


def _with_header(content: Path, path: Path, dtype: Any, count: int) -> None:
    """Turn a file of numbers into a .npy file."""
    with array_file(path, dtype, (count,)) as target, content.open("rb") as source:
        while block := source.read(2**22):
            target.write(block)
    content.unlink()


def _rows_of(features: str | Path | None, labels: str | Path | None) -> int:
    """Number of rows of the files of features and labels, after checks of their types."""
    counts = []
    for file, kinds, axes, words in ((features, "f", 2, "numbers (N, D)"), (labels, "iu", 1, "integers (N,)")):
        if file is not None:
            with name_source_in_errors(file, "a NumPy array"):
                array = np.load(file, mmap_mode="r", allow_pickle=False)
            if array.dtype.kind not in kinds or array.ndim != axes:
                raise GraphFileError(f"{file}: expected {words}, found {array.dtype} {array.shape}.")
            counts.append(len(array))
    if len(set(counts)) > 1:
        raise GraphFileError(f"{labels}: expected {counts[0]} labels, as there are features, found {counts[1]}.")
    return counts[0]


def _copy_rows(source: Path, target: Path, *, half: bool) -> None:
    """Copy a .npy file block by block; float64 becomes float32."""
    whole = np.load(source, mmap_mode="r", allow_pickle=False)
    dtype = np.float16 if half else np.float32 if whole.dtype == np.float64 else whole.dtype
    with array_file(target, dtype, whole.shape) as file:
        for start in range(0, len(whole), BATCH):
            rows = np.load(source, mmap_mode="r")[start : start + BATCH].astype(dtype)
            if half and not np.isfinite(rows).all():
                raise GraphFileError(f"{source}: expected features below 65504 to keep them as float16, found larger.")
            rows.tofile(file)
