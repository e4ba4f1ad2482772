"""Processes of test_communicator."""

import json
import warnings
from datetime import timedelta

import torch
import torch.distributed as dist

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.distributed import Communicator
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.errors import CheckpointError, ConfigError
from kappagcn.graphs import disease, torus

TIMEOUT = 5  # seconds after which an operation that other processes do not join fails
EPOCHS = 3


def histories(group=None):
    """Numbers of each epoch of every kind of fit."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    options = {"epochs": EPOCHS, "verbose": False}
    batches = {"batch_size": 32, "num_neighbors": -1}  # nothing is drawn, so that it does not matter how many share it
    graph = torus(100, radius=0.2)
    fits = {
        "batches": KappaGCNClassifier("H4", **options, **batches).fit(disease(100), group=group),
        "whole": KappaGCNClassifier("H4", **options).fit(disease(100), group=group),
        "sampled pairs": GraphEmbedder("H2", sources=10, **options).fit(graph, group=group),
    }
    if group is None:
        fits["all pairs"] = GraphEmbedder("H2", **options).fit(graph)
    return {name: estimator.history_ for name, estimator in fits.items()}


def unshared(rank, over):
    """Rank 0 fits alone; rank 1 takes part in nothing until that is over."""
    if rank == 0:
        return histories()
    over.wait()
    return {}


def shared(rank, over):
    """Ranks 1 and 2 share the work as ranks 0 and 1 of a group of their own, while rank 0 works alone."""
    group = dist.new_group([1, 2])
    if rank == 0:
        return {"refused": refused(group), **histories()}
    return {"collectives": collectives(Communicator(group)), **histories(group)}


def refused(group):
    try:
        Communicator(group)
    except ConfigError as problem:
        return str(problem)


def collectives(communicator):
    """The result of every collective operation."""
    rank = communicator.rank
    tensor, total = torch.full((2,), float(rank + 1)), torch.full((2,), float(rank + 1))
    communicator.broadcast(tensor)
    communicator.all_reduce(total)
    received = torch.empty(3 - 2 * rank, dtype=torch.long)
    sends, receives = ([1, 1], [1, 2]) if rank == 0 else ([2, 0], [1, 0])
    communicator.all_to_all(received, torch.arange(2) + 10 * rank, receives, sends)

    def refuse():
        raise CheckpointError(f"refused by rank {rank}")

    try:
        communicator.run_on_rank0(refuse)
    except CheckpointError as problem:
        message = str(problem)
    return {
        "ranks": [rank, communicator.world_size],
        "broadcast": tensor.tolist(),
        "all_reduce": total.tolist(),
        "all_reduce_sum": communicator.all_reduce_sum(0.1, torch.tensor(rank)),
        "any_rank": [communicator.any_rank(rank == 1), communicator.any_rank(False)],
        "all_to_all": received.tolist(),
        "run_on_rank0": [communicator.run_on_rank0(lambda: f"rank {rank}"), message],
    }


def main(case, rank, world_size, folder, over):
    options = {"rank": rank, "world_size": world_size, "timeout": timedelta(seconds=TIMEOUT)}
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", **options)
    print(json.dumps({"unshared": unshared, "shared": shared}[case](rank, over)))
