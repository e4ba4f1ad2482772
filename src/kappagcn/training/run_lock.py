"""The lock of a run folder: two processes never write one run."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kappagcn.errors import CheckpointError

if TYPE_CHECKING:
    from kappagcn.distributed import Communicator


SETTINGS = ("config.json", ".lock")  # files that are written before a run starts
WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # of file systems that have none


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
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = _locked_file(folder / ".lock")
    except FileExistsError:
        raise CheckpointError(f"{folder}: expected a folder for the run, found a file.") from None
    except OSError as problem:
        raise CheckpointError(f"{folder}: expected a folder to write in, found {problem.strerror}.") from None
    with file:
        try:
            yield
        except BaseException:
            if not had_settings and not _results(folder):
                (folder / "config.json").unlink(missing_ok=True)
                if missing:
                    shutil.rmtree(folder)
                for path in missing[1:]:
                    with suppress(OSError):  # others may use the folder by now
                        path.rmdir()
            raise
        finally:
            Path(file.name).unlink(missing_ok=True)


def _results(folder: Path) -> bool:
    """Whether a folder has files of a run, beside its settings."""
    return any(path.is_file() and path.name not in SETTINGS for path in folder.rglob("*"))


def _locked_file(path: Path) -> IO[str]:
    """The file that is locked, with the number of this process in it."""
    while True:
        file = path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                file.seek(0)
                owner = file.read().strip()
            raise CheckpointError(
                f"{path.parent}: process {owner} is writing this run. Wait until it has ended, or choose "
                "another folder."
            ) from None
        except OSError as problem:
            if problem.errno not in WITHOUT_LOCKS:
                raise
            warnings.warn(f"{path.parent}: cannot be locked; let no other process write this run.", stacklevel=6)
            return file
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            file.truncate(0)
            print(os.getpid(), file=file, flush=True)
            return file
        file.close()  # its owner has removed it meanwhile
