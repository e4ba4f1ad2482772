"""Edge lists as people have them: CSV, TSV or blank-separated, with a heading or not, weights or not, any node names.

- The separator is the first of tab, semicolon, comma that the first line has, otherwise blanks.
- Lines that are empty or start with ``#`` or ``%`` are skipped.
- The first line is a heading if it names its columns (``source``, ``target``, ``weight`` and their usual variants), or
  if one of its columns is text above a number; the report says so.
- Without a heading there are two columns, or three with weights. With one, the columns it names, or the first two.
- Nodes named by integers are numbered in that order, all others in the order in which they appear.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kappagcn.errors import GraphFileError
from kappagcn.progress import bar

__all__ = ["EdgeList", "is_number", "read_edge_list", "read_rows"]

Array = NDArray[Any]
SOURCES = {"source", "src", "from", "start", "node1", "id1", "tail"}
TARGETS = {"target", "dst", "to", "end", "node2", "id2", "head", "dest", "destination"}
WEIGHTS = {"weight", "weights", "w", "value", "length"}
SEPARATORS = "\t;,"
CHUNK = 2**24
NUMERIC = b"0123456789+-.eE \t,;\r\n"
LEADING_ZERO = re.compile(rb"(?<![0-9.eE+-])[+-]?0[0-9]")
CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,15}")
LARGEST_ID = 2**53  # beyond, numbers read as float64 run together


@dataclass(frozen=True)
class EdgeList:
    """Edges between numbered nodes: ends (E,), weights (E,) or None, and the nodes' names, integers or text, (N,)."""

    rows: Array
    cols: Array
    weights: Array | None
    names: Array | list[str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Layout:
    separator: str | None
    columns: int
    source: int
    target: int
    weight: int | None
    first: int  # the line the edges start at, from 1
    skipped: int  # bytes before them
    ignored: tuple[str, ...]
    heading: tuple[str, ...]


def read_edge_list(path: str | Path, *, header: bool | None = None, progress: bool = False) -> EdgeList:
    """The edges in a text file.

    Args:
        path: The file.
        header: Whether the first line is a heading; None to find out.
        progress: Show a bar on a terminal.
    """
    path = Path(path)
    try:
        with path.open("rb") as file, bar(path.name, path.stat().st_size, shown=progress, in_bytes=True) as advance:
            layout = _layout(file, path, header)
            found = _numbered(file, layout, advance) or _plain(file, layout, advance) or _named(file, path, layout)
    except OSError as error:
        raise GraphFileError(f"{path}: cannot be read ({error.strerror or error}).") from None
    return found


def _layout(file: BinaryIO, path: Path, header: bool | None) -> _Layout:
    lines = _content_lines(file, path)
    number, offset, line = next(lines, (1, 0, ""))
    if not line:
        raise GraphFileError(f"{path}: expected edges, one per line, found none.")
    separator = next((mark for mark in SEPARATORS if mark in line), None)
    cells = _cells(line, separator, path)
    after = next(lines, None)
    names = [cell.strip().lower() for cell in cells]
    if header is None:
        below = _cells(after[2], separator, path) if after else cells
        header = bool(set(names) & SOURCES and set(names) & TARGETS) or (
            len(cells) == len(below) > 1
            and not any(map(is_number, cells))
            and (all(map(is_number, below[:2])) or any(map(is_number, below[2:])))
        )
    if header and after is None:
        raise GraphFileError(f"{path}: expected edges below the heading, found none.")
    if len(cells) < 2:
        raise GraphFileError(
            f"{path}, line {number}: expected two nodes per line, separated by comma, tab, semicolon or blanks, "
            f"found {line.strip()[:60]!r}."
        )
    if not header:
        if len(cells) > 3:
            raise GraphFileError(
                f"{path}, line {number}: expected two columns, or three with weights, found {len(cells)}. "
                "Add a heading with source, target and weight."
            )
        return _Layout(separator, len(cells), 0, 1, 2 if len(cells) == 3 else None, number, offset, (), ())
    source = next((i for i, name in enumerate(names) if name in SOURCES), 0)
    target = next((i for i, name in enumerate(names) if name in TARGETS and i != source), 1 if source != 1 else 0)
    weight = next((i for i, name in enumerate(names) if name in WEIGHTS and i not in (source, target)), None)
    ignored = tuple(c.strip() for i, c in enumerate(cells) if i not in (source, target, weight))
    assert after is not None
    return _Layout(
        separator, len(cells), source, target, weight, after[0], after[1], ignored, tuple(c.strip() for c in cells)
    )


def _content_lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, int, str]]:
    """Number, place and text of the lines that are neither empty nor comments."""
    file.seek(0)
    offset = 0
    for number, raw in enumerate(iter(lambda: file.readline(2**20), b""), 1):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise GraphFileError(f"{path}, line {number}: expected text in UTF-8, found other bytes.") from None
        if text.strip() and not text.lstrip().startswith(("#", "%")):
            yield number, offset + (3 if number == 1 and raw.startswith(b"\xef\xbb\xbf") else 0), text
        offset += len(raw)


def _cells(line: str, separator: str | None, path: Path) -> list[str]:
    try:
        return line.split() if separator is None else next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        raise GraphFileError(f"{path}: expected a table, one line per edge, found something else ({error}).") from None


def is_number(text: str) -> bool:
    """Whether Python reads it as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbered(file: BinaryIO, layout: _Layout, advance: Any) -> EdgeList | None:
    """All columns numbers, nodes integers: whole chunks at a time. None where that is not so."""
    pieces: list[list[Array]] = [[], [], []]
    for chunk in _chunks(file, layout, advance):
        if chunk.translate(None, NUMERIC) or LEADING_ZERO.search(chunk):
            return None
        table = _table(chunk, layout)
        if table is None:
            return None
        ends = table[:, [layout.source, layout.target]]
        if (ends != np.round(ends)).any() or (np.abs(ends) >= LARGEST_ID).any():
            return None
        pieces[0].append(ends[:, 0].astype(np.int64))
        pieces[1].append(ends[:, 1].astype(np.int64))
        if layout.weight is not None:
            pieces[2].append(table[:, layout.weight].copy())
    rows, cols = np.concatenate(pieces[0]), np.concatenate(pieces[1])
    del pieces[:2]
    weights = np.concatenate(pieces[0]) if layout.weight is not None else None
    names, rows, cols = _renumbered(rows, cols)
    return EdgeList(rows, cols, weights, names, _notes(layout))


def _chunks(file: BinaryIO, layout: _Layout, advance: Any) -> Iterator[bytes]:
    """Whole lines, many at a time, without empty ones."""
    file.seek(layout.skipped)
    while chunk := file.read(CHUNK):
        advance(len(chunk))
        chunk += file.readline()
        flat = chunk.replace(b"\r\n", b"\n").strip(b"\n") + b"\n"
        while b"\n\n" in flat:
            flat = flat.replace(b"\n\n", b"\n")
        if len(flat) > 1:
            yield flat.replace(b"\t", b" ") if layout.separator is None else flat


def _even(chunk: bytes, layout: _Layout) -> bool:
    """Whether every line has its columns."""
    symbols = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero(symbols == 10)
    starts = np.concatenate([[0], ends[:-1] + 1])
    if layout.separator is None:
        blank = symbols <= 32
        begins = ~blank
        begins[1:] &= blank[:-1]
        per_line = np.add.reduceat(begins, starts, dtype=np.int32)
    else:
        per_line = np.add.reduceat(symbols == ord(layout.separator), starts, dtype=np.int32) + 1
    return bool((per_line == layout.columns).all())


def _loose(chunk: bytes, mark: bytes) -> bool:
    """Whether cells are empty or hold blanks, in which numbers could slip from line to line."""
    return chunk.startswith(mark) or any(
        part in chunk for part in (b" ", mark + mark, mark + b"\n", b"\n" + mark, b"\t" if mark != b"\t" else b" ")
    )


def _table(chunk: bytes, layout: _Layout) -> Array | None:
    """The numbers of a chunk, a row per line; None unless every line has its columns."""
    if not _even(chunk, layout) or (layout.separator and _loose(chunk, layout.separator.encode())):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            numbers = np.fromstring(chunk.replace((layout.separator or " ").encode(), b" "), sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    return numbers.reshape(-1, layout.columns) if len(numbers) == chunk.count(b"\n") * layout.columns else None


def _renumbered(rows: Array, cols: Array) -> tuple[Array, Array, Array]:
    """Names in rising order, and the edges between their places."""
    low, high = min(rows.min(), cols.min()), max(rows.max(), cols.max())
    if high - low < 8 * len(rows) + 1024:
        here = np.zeros(high - low + 1, bool)
        here[rows - low] = True
        here[cols - low] = True
        place = (np.cumsum(here) - 1).astype(np.int32)
        return np.flatnonzero(here) + low, place[rows - low], place[cols - low]
    names, places = np.unique(np.concatenate([rows, cols]), return_inverse=True)
    return names, places[: len(rows)], places[len(rows) :]


class _Places(dict[str, int]):
    """Names numbered as they are asked for."""

    def __missing__(self, name: str) -> int:
        self[name] = place = len(self)
        return place


def _plain(file: BinaryIO, layout: _Layout, advance: Any) -> EdgeList | None:
    """Nodes by name, without quotation marks or comments: whole chunks at a time. None where that is not so."""
    places = _Places()
    pieces: list[Array] = []
    weights: list[Array] = []
    for chunk in _chunks(file, layout, advance):
        if any(mark in chunk for mark in (b'"', b"#", b"%", b"\r")) or not _even(chunk, layout):
            return None
        try:
            text = chunk[:-1].decode("utf-8")
            cells = (
                text.split()
                if layout.separator is None
                else text.replace("\n", layout.separator).split(layout.separator)
            )
            if layout.weight is not None:
                weights.append(np.array(cells[layout.weight :: layout.columns], np.float64))
        except ValueError:
            return None
        if len(cells) != layout.columns * chunk.count(b"\n"):  # blanks that only Unicode knows
            return None
        ends = [""] * (2 * len(cells) // layout.columns)
        ends[0::2], ends[1::2] = cells[layout.source :: layout.columns], cells[layout.target :: layout.columns]
        pieces.append(np.fromiter(map(places.__getitem__, map(str.strip, ends)), np.int32, len(ends)))
    if "" in places or not pieces:
        return None
    both = np.concatenate(pieces)
    return _finished(both[0::2], both[1::2], np.concatenate(weights) if weights else None, list(places), layout)


def _finished(rows: Array, cols: Array, weights: Array | None, names: Array | list[str], layout: _Layout) -> EdgeList:
    if all(CANONICAL.fullmatch(name) for name in names):  # integers after all, beside comments or the like
        numbers = np.array([int(name) for name in names])
        names, rows, cols = _renumbered(numbers[rows], numbers[cols])
    return EdgeList(rows, cols, weights, names, _notes(layout, named=isinstance(names, list)))


def _named(file: BinaryIO, path: Path, layout: _Layout) -> EdgeList:
    """Nodes by name, line by line: slow, but it knows quotation marks and comments, and names lines that are wrong."""
    places: dict[str, int] = {}
    rows, cols, weights = array("i"), array("i"), array("d")
    source, target, weight = layout.source, layout.target, layout.weight
    for number, cells in read_rows(file, path, layout.separator, layout.first, layout.skipped):
        if len(cells) != layout.columns:
            raise GraphFileError(
                f"{path}, line {number}: expected {layout.columns} columns, as in the first line, found {len(cells)}."
            )
        u, v = cells[source].strip(), cells[target].strip()
        if not u or not v:
            raise GraphFileError(f"{path}, line {number}: expected two nodes, found an empty name.")
        rows.append(places.setdefault(u, len(places)))
        cols.append(places.setdefault(v, len(places)))
        if weight is not None:
            try:
                weights.append(float(cells[weight]))
            except ValueError:
                raise GraphFileError(
                    f"{path}, line {number}: expected a number as weight, found {cells[weight].strip()[:40]!r}."
                ) from None
    if not rows:
        raise GraphFileError(f"{path}: expected edges, one per line, found none.")
    starts, ends = np.array(rows, np.int32), np.array(cols, np.int32)
    values = np.array(weights) if weight is not None else None
    return _finished(starts, ends, values, list(places), layout)


def read_rows(
    file: BinaryIO, path: Path, separator: str | None, first: int = 1, offset: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every line that is neither empty nor a comment."""
    file.seek(offset)
    text = io.TextIOWrapper(file, encoding="utf-8" if offset else "utf-8-sig", newline="")
    number = first - 1
    try:
        if separator is None:
            for number, line in enumerate(text, first):
                cells = line.split()
                if cells and not cells[0].startswith(("#", "%")):
                    yield number, cells
            return
        reader = csv.reader(text, delimiter=separator, strict=True)
        for cells in reader:
            number = first - 1 + reader.line_num
            blank = not cells or (len(cells) == 1 and not cells[0].strip())
            if not blank and not cells[0].lstrip().startswith(("#", "%")):
                yield number, cells
    except UnicodeDecodeError:
        raise GraphFileError(f"{path}, after line {number}: expected text in UTF-8, found other bytes.") from None
    except csv.Error as error:
        raise GraphFileError(f"{path}, after line {number}: {error}. Is a quotation mark missing?") from None
    finally:
        text.detach()


def _notes(layout: _Layout, named: bool = False) -> tuple[str, ...]:
    notes = [f"heading: {', '.join(layout.heading)}"] if layout.heading else []
    if named and not layout.heading:
        notes.append("no heading")
    return (*notes, f"columns not used: {', '.join(layout.ignored)}") if layout.ignored else tuple(notes)
