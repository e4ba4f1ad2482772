"""Processes that want the lock of one run folder."""

import time

from kappagcn.errors import CheckpointError
from kappagcn.training.run_lock import locked


def hold(folder):
    """Keep the lock until the process is killed."""
    with locked(folder):
        (folder / "held").touch()
        time.sleep(600)


def add_in_turn(folder, times):
    """Add 1 to the number in a file so many times, each time with the lock."""
    while times:
        try:
            with locked(folder):
                count = folder / "count"
                number = int(count.read_text()) if count.exists() else 0
                time.sleep(0.001)
                count.write_text(str(number + 1))
                times -= 1
        except CheckpointError:
            time.sleep(0.001)
