"""Processes for tests, forked from one that has imported the package: they start in milliseconds, not in seconds.

What a worker calls must be a function of an importable file, such as part_worker.py; it may be killed or stopped.
"""

import contextlib
import multiprocessing
import os
import random
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

import torch.multiprocessing

from shaking import shaken_as_parent

STREAMS = ("out", "err")
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["kappagcn.cli", "kappagcn.distributed", "kappagcn.estimators", "kappagcn.paper"])


class Worker:
    """A process that calls a function; what it prints goes into files until it is over."""

    def __init__(self, function, *arguments, environment=None):
        self.folder = Path(tempfile.mkdtemp(prefix="kappagcn-worker-"))
        more = (function, arguments, environment or {}, self.folder)
        self.process = CONTEXT.Process(target=_call, args=more, daemon=True)
        self.process.start()

    @property
    def pid(self):
        return self.process.pid

    def ended(self, seconds=280):
        """Standard output, standard error and exit code of the process, once it is over."""
        self.process.join(seconds)
        code = self.process.exitcode
        self.process.kill()
        self.process.join()
        out, err = ((self.folder / name).read_text() for name in STREAMS)
        shutil.rmtree(self.folder)
        assert code is not None, f"expected the process to end within {seconds} s, found it running:\n{out}\n{err}"
        return out, err, code

    def kill(self):
        """End the process, whatever it does; nothing where it is over."""
        self.process.kill()
        self.process.join()
        shutil.rmtree(self.folder, ignore_errors=True)


def _call(function, arguments, environment, folder):
    for number, name in enumerate(STREAMS, 1):
        _redirect(number, folder / name)
    os.environ.update(environment)
    sys.argv = ["kappagcn"]
    with shaken_as_parent():
        function(*arguments)


def _redirect(number, path):
    """Let a file take what this process writes to a stream."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(file, number)
    os.close(file)


def spawn_into(path):
    """`torch.multiprocessing.spawn` of such processes, with a file for what they print."""

    def spawn(function, arguments, nprocs):
        method = CONTEXT.get_start_method()
        torch.multiprocessing.start_processes(_print_into, (path, function, *arguments), nprocs, start_method=method)

    return spawn


def _print_into(rank, path, function, *arguments):
    _redirect(1, path)
    with shaken_as_parent():
        function(rank, *arguments)


def execute(code, *arguments):
    """Run the text of a program, for a worker, as a new process would."""
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})


def wait_until(condition, seconds=280):
    """Look again and again until a condition holds; the limit is for tests that fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"expected it within {seconds} s"
        time.sleep(0.01)


def group(function, count, *arguments):
    """Workers with the variables of the environment that torchrun would set."""
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(count)}
    return [Worker(function, *arguments, environment={**address, "RANK": str(rank)}) for rank in range(count)]


def free_port():
    """A port below those that systems assign by themselves: nobody else takes it before the workers do."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with contextlib.suppress(OSError), socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            return port
    raise AssertionError("expected a free port, found 100 in use")
