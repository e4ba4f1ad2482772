"""The lock of a run folder: two processes never write one run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from kappagcn.errors import CheckpointError

if TYPE_CHECKING:
    from kappagcn.distributed import Communicator

SETTINGS = ("config.json", ".lock")  # files that are written before a run starts


@contextmanager
def locked(folder: str | Path | None, communicator: Communicator | None = None) -> Iterator[None]:
    """Keep other processes from writing into a run folder; the lock of a process that was killed is gone with it.

    The folder is created. It is removed again if the block fails before it has written more than settings; a folder
    that was there before only loses the settings.

    Args:
        folder: Run folder; None to lock nothing.
        communicator: Connects the processes of the run, of which rank 0 takes the lock.

    Raises:
        CheckpointError: Another process has the lock.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as path, locked(Path(path) / "run"):
    ...     (Path(path) / "run" / ".lock").exists()
    True
    """
    with ExitStack() as stack:
        if folder is not None and communicator is not None:
            communicator.run_on_rank0(lambda: stack.enter_context(_lock(Path(folder))))
        elif folder is not None:
            stack.enter_context(_lock(Path(folder)))
        yield


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    had_settings = (folder / "config.json").exists()
    path = folder / ".lock"
    lock = FileLock(path, blocking=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except FileExistsError:
        raise CheckpointError(f"{folder}: expected a folder for the run, found a file.") from None
    except Timeout:
        owner = "another process"
        with suppress(OSError):  # it may have ended by now
            owner = f"process {path.read_text().strip()}"
        raise CheckpointError(
            f"{folder}: {owner} is writing this run. Wait until it has ended, or choose another folder."
        ) from None
    except OSError as problem:
        raise CheckpointError(f"{folder}: expected a folder to write in, found {problem.strerror}.") from None
    try:
        path.write_text(f"{os.getpid()}\n")
        yield
    except BaseException:
        if not had_settings and not _results(folder):
            (folder / "config.json").unlink(missing_ok=True)
            if missing:
                shutil.rmtree(folder)
            for parent in missing[1:]:
                with suppress(OSError):  # others may use the folder by now
                    parent.rmdir()
        raise
    finally:
        path.unlink(missing_ok=True)  # while it is locked: who waits for it sees that it is gone
        lock.release()


def _results(folder: Path) -> bool:
    """Whether a folder has files of a run, beside its settings."""
    return any(path.is_file() and path.name not in SETTINGS for path in folder.rglob("*"))
