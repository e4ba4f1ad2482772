"""Processes of the tests of link prediction: they share the pairs of each step, or are killed in the midst of a run."""

import json
import os
import signal

import torch
from torch import distributed

from kappagcn.graphs import disease, edge_split
from kappagcn.links.fitting import fit_links
from kappagcn.models import KappaGCN, LinkPredictor
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import seeded


def prepared():
    """A graph and a split of its edges."""
    data = disease(200)
    data.x = 0.3 * data.x
    return data, edge_split(data, 0)


def model(seed=0, **options):
    """A small link predictor."""
    with seeded(seed):
        return LinkPredictor(KappaGCN(10, None, "H2xS2", num_layers=2, **options))


def share(rank, folder):
    """Train as one of two workers, whole graph and batches; the weights of worker 0 count."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    data, split = prepared()
    for name, options in {"whole": {"folds": 3}, "batches": {"batch_size": 31, "num_neighbors": -1}}.items():
        predictor = model(rank)
        result = fit_links(predictor, data, split, TrainingSettings(epochs=4), group=distributed.group.WORLD, **options)
        torch.save(predictor.state_dict(), folder / f"{name}-{rank}.pt")
        print(json.dumps(result.history))


MODES = {"whole": {"folds": 3}, "batches": {"batch_size": 40, "num_neighbors": 3}}


def run(folder, epochs, die_after, mode):
    """Train in a folder, or take up the run there; be killed after an epoch."""
    torch.set_num_threads(1)
    data, split = prepared()

    def kill(record):
        if record["epoch"] == die_after:
            os.kill(os.getpid(), signal.SIGKILL)

    predictor = model(dropout=0.3)
    config = TrainingSettings(epochs=epochs, patience=1000)
    more = {"callbacks": [kill], "checkpoint_seconds": 0.0, "folder": folder, "resume": True}
    return predictor, fit_links(predictor, data, split, config, evaluate_every=2, **more, **MODES[mode])
