"""A worker that runs a command, and may end or stop itself in the midst of it."""

import os
import signal

from kappagcn.cli import app
from kappagcn.training.trainer import Trainer


def main(arguments, rank=None, epoch=0, by=signal.SIGKILL):
    """Run a command; the worker of that rank gets a signal before it begins that epoch."""
    if str(rank) == os.environ.get("RANK"):
        run_epoch = Trainer.run_epoch

        def until(trainer):
            if trainer.epoch == epoch:
                os.kill(os.getpid(), by)
            return run_epoch(trainer)

        Trainer.run_epoch = until
    app(arguments)
