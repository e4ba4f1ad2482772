"""Atomic file writing, where a file is written completely or not at all, and npz files without pickled arrays."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[Any]]:
    """Open a temporary binary file beside `path` that replaces it at the end: readers see the old or the new file.

    The folder is created if it does not exist. If writing fails, the old file stays and the temporary one is removed.
    A file that is replaced passes its permissions on; of a symbolic link the file it points to is replaced. Devices and
    pipes are written directly.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    with temporary.open("xb") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if path.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            file.close()
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
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
