"""What each worker of the tests of parts in files does: main(out, folders)."""

import json
import warnings

import torch

from kappagcn.distributed import process_group
from kappagcn.training.part_fitting import evaluate_parts, fit_parts, part_files
from kappagcn.training.settings import TrainingSettings
from part_worker import network

CONFIG = TrainingSettings(epochs=3, patience=3, curvature_lr=0.05, l2=1e-3)


def trained(parts, name, group=None, scratch=None, **run):
    """History, weights and test metrics of a network on parts."""
    model = network(name)
    with part_files(model, parts, group=group, scratch=scratch) as task:
        result = fit_parts(model, task, CONFIG, **run)
        test = evaluate_parts(task)
    weights = {key: t.flatten().tolist() for key, t in model.state_dict().items()}
    return {"history": result.history, "weights": weights, "test": test}


def main(out, folders, names):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with process_group(60) as communicator:
        results = {
            f"{label} {name}": trained(parts, name, communicator, out.parent)
            for label, parts in folders.items()
            for name in names
        }
    if communicator.rank == 0:
        out.write_text(json.dumps(results))
