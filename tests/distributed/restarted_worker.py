"""A worker that torchrun starts anew: rank 1 dies the first time, and rank 0 comes late the second time."""

import os
import signal
import time

from kappagcn.distributed import process_group


def main():
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    first = restarts == 0
    if not first and os.environ["RANK"] == "0":
        time.sleep(1)  # rank 1 could find the address of the process before this one
    with process_group(20, restarts=restarts) as communicator:
        (total,) = communicator.all_reduce_sum(1.0)
        if first and communicator.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if first:
            communicator.all_reduce_sum(1.0)
    return total
