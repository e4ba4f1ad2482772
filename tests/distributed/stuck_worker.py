"""Workers of the tests, one of whom is stuck or gone, with torchrun's variables: main(how)."""

import os
import time

import torch.distributed as dist

from kappagcn.distributed import process_group
from kappagcn.errors import WorkerLostError


def main(how):
    try:
        with process_group(5) as communicator:
            dist.barrier()  # all have joined
            if how == "stuck" and communicator.rank == 1:
                time.sleep(60)
            if how == "keeper" and communicator.rank == 0:
                os._exit(9)  # and with it the store of the group
            dist.barrier()
    except WorkerLostError as problem:
        print(problem, flush=True)
