"""Processes of the tests of training: they share batches, or are killed in the midst of a run."""

import itertools
import json
import os
import signal

import torch
from torch import distributed

from kappagcn import io_atomic
from kappagcn.classification.fitting import fit
from kappagcn.classification.minibatch import MiniBatch
from kappagcn.graphs import disease, random_split
from kappagcn.models import KappaGCN
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import seeded


def prepared():
    """A graph and its split."""
    data = disease(200)
    data.x = 0.1 * data.x
    return data, random_split(data.y, 0)


def share_batches(rank, folder):
    """Train as one of two workers, with other weights at first than the other: those of worker 0 count."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    data, split = prepared()
    for neighbours, p in ((3, 0.3), (-1, 0.0)):
        with seeded(rank):
            dropped = {"dropout": p, "adjacency_dropout": p, "dropconnect": p}
            model = KappaGCN(10, 2, "H2xS2", relative=neighbours > 0, **dropped)
        strategy = MiniBatch(17, neighbours, group=distributed.group.WORLD)
        folder_of_run = folder / f"run{neighbours}"
        result = fit(model, data, split, TrainingSettings(epochs=5), strategy=strategy, folder=folder_of_run)
        torch.save(model.state_dict(), folder / f"weights{neighbours}-{rank}.pt")
        print(json.dumps(result.history))


def train(folder, epochs, callbacks=(), checkpoint_seconds=5.0):
    """Train, or take up the training of that folder."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    data, split = prepared()
    with seeded(0):
        model = KappaGCN(10, 2, "H2xS2", relative=True, dropout=0.3, adjacency_dropout=0.2)
    config = TrainingSettings(epochs=epochs, patience=10_000)
    options = {"callbacks": callbacks, "checkpoint_seconds": checkpoint_seconds}
    try:
        fit(model, data, split, config, folder=folder, resume=True, **options)
    finally:
        torch.set_num_threads(threads)


def be_killed(folder, epochs, moment):
    """Train until the process is killed: after an epoch, or while a file of that number is being written."""
    writes = itertools.count(1)

    def write(file):
        if next(writes) == moment.get("write"):
            os.kill(os.getpid(), signal.SIGKILL)

    def report(record):
        if record["epoch"] == moment.get("epoch"):
            os.kill(os.getpid(), signal.SIGKILL)

    io_atomic.os.fsync = write
    train(folder, epochs, [report], checkpoint_seconds=0)
