"""Tables of edges larger than memory become a mapped folder: DuckDB sorts them under a limit of memory.

Nodes are numbered as in `read_graph`: integers in their order, all others in order of appearance. Features and labels
are .npy files whose row i is node i.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.io.edges import GAPS, USUAL, EdgeColumns, edge_positions
from kappagcn.graphs.io.folder import array_file, new_folder, write_about
from kappagcn.graphs.io.formats import TABLES
from kappagcn.graphs.io.tables import BATCH, Table, node_ids, read_numbers, read_tables, usual_ids
from kappagcn.graphs.io.text import ending_of, stem_of
from kappagcn.graphs.io.undirected import Array, counted, name_source_in_errors

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["MEMORY", "convert_table", "is_streamed"]

MEMORY = 2**29  # bytes that DuckDB may use: twice as much is hardly faster
STREAMED = 2**26  # bytes from which a table is streamed; smaller ones are read whole
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
        path: Table of edges: text, Parquet, or integers (E, 2) in a .npy file.
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
    import duckdb

    rows = None if features is None and labels is None else _rows_of(features, labels)
    with (
        new_folder(folder) as target,
        tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as scratch,
        duckdb.connect(
            f"{scratch}/edges.duckdb",
            config={"memory_limit": f"{memory}B", "temp_directory": f"{scratch}/spill", "threads": 1},
        ) as connection,
        name_source_in_errors(path),
    ):
        graph = _Sort(connection, target)
        graph.load(path, columns)
        edges, loops = graph.one("SELECT count(*), count(*) FILTER (WHERE s = t) FROM edges")
        nodes, names = graph.number_nodes(edges, rows)
        entries, isolated = graph.write(nodes)
        if names is not None:
            np.save(target / "node_names.npy", names)
        for name, file in (("features", features), ("labels", labels)):
            if file is not None:
                _copy_rows(Path(file), target / f"{name}.npy", half=half and name == "features")
        merged = edges - loops - entries // 2
        remarks = {
            f"{counted(nodes, 'node')}, {counted(entries // 2, 'edge')}": True,
            f"{counted(merged, 'repeated or reversed edge')} merged": merged,
            f"{counted(loops, 'self-loop')} removed": loops,
            "weighted": graph.weighted,
            counted(isolated, "isolated node"): isolated,
        }
        report = "; ".join(remark for remark, applies in remarks.items() if applies)
        write_about(target, nodes=nodes, report=report, name=stem_of(path))
    return folder


class _NotIntegersError(Exception):
    """A node that is no integer in its usual form, such as 007, after others that are."""


def _tables(path: Path, columns: EdgeColumns) -> Iterator[Table]:
    """The table in blocks of rows."""
    if path.suffix != ".npy":
        yield from read_tables(
            path, nodes=2, header=columns.header, names=columns.names(), expected="edges", limited=False
        )
        return
    pairs = np.load(path, mmap_mode="r", allow_pickle=False)
    if pairs.dtype.kind not in "iu" or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GraphFileError(f"{path}: expected integers (E, 2), found {pairs.dtype} {pairs.shape}.")
    for start in range(0, max(len(pairs), 1), BATCH):
        block = np.load(path, mmap_mode="r")[start : start + BATCH]  # mapped anew, so that its pages are freed
        ends = {name: block[:, side].astype(np.int64) for side, name in enumerate(("source", "target"))}
        yield Table(pa.table(ends), list(ends), lambda row: f"{path}, row {row}")


class _Sort:
    """The table ``edges`` in DuckDB with the columns s, t and perhaps w, and the symmetric adjacency from it.

    Args:
        connection: A database with a limit of memory.
        target: Folder for the arrays.
    """

    def __init__(self, connection: DuckDBPyConnection, target: Path) -> None:
        self.connection, self.target, self.weighted = connection, target, False

    def one(self, query: str) -> tuple[Any, ...]:
        """The row that a query gives."""
        row: tuple[Any, ...] = self.connection.sql(query).fetchall()[0]
        return row

    def load(self, path: Path, columns: EdgeColumns) -> None:
        """Read the edges; nodes are integers if all of them are, in any form, otherwise text."""
        try:
            self._read(path, columns, integers=True)
        except _NotIntegersError:
            self._read(path, columns, integers=False)
            usual = "CAST(TRY_CAST({0} AS BIGINT) AS VARCHAR) = {0}"
            all_integers = " AND ".join(f"bool_and(coalesce({usual.format(name)}, false))" for name in ("s", "t"))
            if self.one(f"SELECT {all_integers} FROM edges")[0]:
                self.connection.execute("ALTER TABLE edges ALTER s TYPE BIGINT; ALTER TABLE edges ALTER t TYPE BIGINT")
        if self.weighted:
            self._check_weights()

    def _read(self, path: Path, columns: EdgeColumns, *, integers: bool) -> None:
        kind = "BIGINT" if integers else "VARCHAR"
        for number, table in enumerate(_tables(path, columns)):
            used = edge_positions(table, columns)
            ids = [node_ids(table, i, "two nodes") for i in used[:2]]
            if integers and not all(pa.types.is_integer(column.type) for column in ids):
                raise _NotIntegersError
            block = {name: column if integers else usual_ids(column) for name, column in zip("st", ids, strict=True)}
            if used.weight is not None:
                block["w"] = read_numbers(table, used.weight, "a number as weight")
            if number == 0:
                self.weighted = used.weight is not None
                weight = ", w DOUBLE" * self.weighted
                self.connection.execute(f"CREATE OR REPLACE TABLE edges (s {kind}, t {kind}{weight})")
            self.connection.register("block", pa.table(block))
            self.connection.execute("INSERT INTO edges SELECT * FROM block")
            self.connection.unregister("block")
            pa.default_memory_pool().release_unused()

    def _check_weights(self) -> None:
        bad, first, ones = self.one(
            "SELECT count(*) FILTER (WHERE wrong), first(w) FILTER (WHERE wrong), bool_and(w = 1) FROM (SELECT w, "
            "coalesce(NOT (isfinite(TRY_CAST(w AS FLOAT)) AND CAST(w AS FLOAT) > 0), true) AS wrong FROM edges)"
        )
        if bad:
            raise GraphError(
                f"expected weights that are positive and finite, found {first} ({counted(bad, 'such edge')})."
            )
        self.weighted = not ones

    def number_nodes(self, edges: int, rows: int | None) -> tuple[int, Array | None]:
        """Number the nodes from 0 in ``edges``; returns how many there are, and their names unless these are numbers.

        Args:
            edges: Number of edges.
            rows: Number of rows of features or labels, where nodes are their numbers.
        """
        if not edges:
            return rows or 0, None
        is_text = self.one("SELECT typeof(s) FROM edges LIMIT 1")[0] == "VARCHAR"
        if is_text and rows is not None:
            raise GraphError(f"expected nodes as numbers from 0 to {rows - 1}, the rows of features and labels.")
        if not is_text:
            low, high = self.one("SELECT min(least(s, t)), max(greatest(s, t)) FROM edges")
            if rows is not None:
                if not 0 <= low <= high < rows:
                    raise GraphError(f"expected nodes from 0 to {rows - 1}, found {low} to {high}.")
                return rows, None
            if self._all_occur(low, high, edges):
                self.connection.execute(f"UPDATE edges SET s = s - {low}, t = t - {low}" if low else "SELECT 1")
                return high - low + 1, np.arange(low, high + 1) if low else None
        order = "min(place)" if is_text else "id"
        ends = "SELECT s AS id, 2 * rowid AS place FROM edges UNION ALL SELECT t, 2 * rowid + 1 FROM edges"
        self.connection.execute(
            f"CREATE TABLE nodes AS SELECT id, row_number() OVER (ORDER BY {order}) - 1 AS n FROM ({ends}) GROUP BY id;"
            f"CREATE TABLE numbered AS SELECT a.n AS s, b.n AS t{', w' * self.weighted} FROM edges "
            "JOIN nodes a ON a.id = s JOIN nodes b ON b.id = t;"
            "DROP TABLE edges; ALTER TABLE numbered RENAME TO edges"
        )
        names = self.connection.sql("SELECT id FROM nodes ORDER BY n").to_arrow_table().column(0).to_numpy()
        return len(names), names.astype(np.str_) if is_text else names

    def _all_occur(self, low: int, high: int, edges: int) -> bool:
        """Whether no integer is left out."""
        if not 0 <= high - low < max(GAPS * edges, 2**16):
            return False
        occurs = np.zeros(high - low + 1, bool)
        for batch in self.connection.sql("SELECT s, t FROM edges").to_arrow_reader(BATCH):
            for column in batch.columns:
                occurs[column.to_numpy() - low] = True
        return bool(occurs.all())

    def write(self, nodes: int) -> tuple[int, int]:
        """Write the symmetric adjacency without self-loops and repeated edges, whose weights are averaged.

        Returns:
            The numbers of entries and of nodes without any.
        """
        if nodes >= NODE_LIMIT:
            raise GraphError(f"expected fewer than {NODE_LIMIT:,} nodes, found {nodes:,}.")
        weight = ", w" * self.weighted
        directions = " UNION ALL ".join(
            f"SELECT ({a}::UBIGINT << 32) | {b}::UBIGINT AS key{weight} FROM edges WHERE s <> t"
            for a, b in (("s", "t"), ("t", "s"))
        )
        means, grouped = (", avg(w) AS w", " GROUP BY key") if self.weighted else ("", "")
        query = f"SELECT key{means} FROM ({directions}){grouped} ORDER BY key"
        self.connection.execute("SET preserve_insertion_order = false")
        starts, strengths = np.zeros(nodes + 1, np.int64), np.zeros(nodes if self.weighted else 0)
        entries, last = 0, -1
        with ExitStack() as files:
            columns = files.enter_context(array_file(self.target / "indices.npy", np.int32))
            if self.weighted:
                values = files.enter_context(array_file(self.target / "weights.npy", np.float32))
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
                starts[low + 1 : low + 1 + len(local)] += local
                if self.weighted:
                    weights = batch.column(1).to_numpy()[first].astype(np.float32)
                    weights.tofile(values)
                    strengths[low : low + len(local)] += np.bincount(rows - low, weights)
        isolated = int((starts[1:] == 0).sum())
        np.cumsum(starts, out=starts)
        np.save(self.target / "indptr.npy", starts)
        if self.weighted:
            np.save(self.target / "strengths.npy", strengths.astype(np.float32))
        return entries, isolated


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
    with array_file(target, dtype, whole.shape[1:]) as file:
        for start in range(0, len(whole), BATCH):
            rows = np.load(source, mmap_mode="r")[start : start + BATCH].astype(dtype)
            if half and not np.isfinite(rows).all():
                raise GraphFileError(f"{source}: expected features below 65504 to keep them as float16, found larger.")
            rows.tofile(file)
