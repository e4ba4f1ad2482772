"""NumPy arrays on disk, read and written by slices; not mapped, since mapped pages count as memory of the process."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.undirected import Array

__all__ = ["ArrayFile", "ArrayWriter"]

HEADER = 128  # bytes of the header of files written here


class ArrayFile:
    """A .npy file that is read by slices of its first axis, or of the second of an array of two planes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/a.npy", np.arange(10).reshape(5, 2))
    ...     ArrayFile(f"{folder}/a.npy").read(1, 3).tolist()
    [[2, 3], [4, 5]]
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            with self.path.open("rb") as file:
                version = npy.read_magic(file)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                self.shape, fortran, self.dtype = read(file)
                self._start = file.tell()
        except (ValueError, OSError) as error:
            raise GraphFileError(f"{self.path}: expected a NumPy array, found {error}.") from None
        if self.dtype.hasobject or (fortran and len(self.shape) > 1):
            raise GraphFileError(f"{self.path}: expected an array of numbers by rows, found {self.dtype}.")
        self._row = math.prod(self.shape[1:]) * self.dtype.itemsize
        size = self._start + math.prod(self.shape) * self.dtype.itemsize
        if self.path.stat().st_size < size:
            raise GraphFileError(
                f"{self.path}: expected {size:,} bytes, found {self.path.stat().st_size:,}: cut short."
            )

    def __len__(self) -> int:
        return int(self.shape[0])

    def read(self, start: int, stop: int, *, plane: int | None = None) -> Array:
        """Rows from `start` to `stop`; with `plane` entries of that row of a (P, E) array."""
        count = max(0, stop - start)
        if plane is None:
            offset, shape = start * self._row, (count, *self.shape[1:])
        else:
            offset, shape = plane * self._row + start * self.dtype.itemsize, (count,)
        array: Array = np.fromfile(self.path, self.dtype, math.prod(shape), offset=self._start + offset)
        return array.reshape(shape)

    def all(self) -> Array:
        """The whole array."""
        return self.read(0, len(self))


class ArrayWriter:
    """A .npy file that is written block by block; it has its shape once `close` was called.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     writer = ArrayWriter(Path(folder) / "a.npy", np.int32)
    ...     writer.write(np.array([1, 2])); writer.write(np.array([3])); writer.close()
    ...     np.load(f"{folder}/a.npy").tolist()
    [1, 2, 3]
    """

    def __init__(self, path: Path, dtype: Any, columns: int | None = None) -> None:
        self.path, self.dtype, self.columns, self.count = path, np.dtype(dtype), columns, 0
        self._file: IO[bytes] = path.open("wb")
        self._file.write(b"\0" * HEADER)

    def write(self, rows: Array) -> None:
        """Append rows."""
        np.ascontiguousarray(rows, self.dtype).tofile(self._file)
        self.count += len(rows)

    def close(self) -> None:
        """Write the header and close the file."""
        shape = (self.count,) if self.columns is None else (self.count, self.columns)
        about = repr({"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape})
        text = about.encode("latin1").ljust(HEADER - 11) + b"\n"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little") + text)
        self._file.close()
