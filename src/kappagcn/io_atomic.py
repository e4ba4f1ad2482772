"""Atomic file writing, where a file is written completely or not at all, and npz files without pickled arrays."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["atomic_write", "save_arrays"]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[Any]]:
    """Open a temporary binary file beside `path` that replaces it at the end: readers see the old or the new file.

    The folder is created if it does not exist. If writing fails, the old file stays and the temporary one is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.", suffix=".part", delete=False) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()
            os.chmod(file.name, 0o666 & ~_umask())  # a temporary file is readable by its owner only
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def save_arrays(file: IO[Any], **arrays: ArrayLike) -> None:
    """Write arrays into a compressed npz file that can be read without pickle.

    `numpy.savez_compressed` has an argument for this only from version 2.1 on.

    Raises:
        TypeError: An array holds Python objects.
    """
    import numpy as np  # the command line starts without it

    stored: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
    pickled = [name for name, array in stored.items() if array.dtype.hasobject]
    if pickled:
        raise TypeError(f"expected arrays of numbers or text, found Python objects in {', '.join(pickled)}")
    np.savez_compressed(file, **stored)
