"""Atomic file writing: a file is written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_write"]


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
