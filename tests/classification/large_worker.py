"""What each worker of the tests does, with torchrun's variables: classify a folder, in double precision for halos."""

import json
import os
import signal

import torch

from kappagcn import KappaGCNClassifier
from kappagcn.classification.large import classify_folder
from kappagcn.classification.parts import HaloParts
from kappagcn.distributed import process_group
from kappagcn.graphs import MappedGraph
from kappagcn.models import KappaGCN
from kappagcn.training import run
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer, seeded

CONFIG = TrainingSettings(epochs=4, patience=4, curvature_lr=0.05, l2=1e-3)


def network():
    """The same weights wherever it is called."""
    with seeded(3):
        return KappaGCN(10, 2, "H2xS2", relative=True).double()


def halo(out, folder):
    """Weights and history of full-graph training on a folder with as many parts as workers."""
    from kappagcn.classification.large import folder_data
    from kappagcn.classification.settings import ClassificationSettings

    torch.set_num_threads(1)
    with process_group(60) as communicator:
        graph, model = MappedGraph(folder), network()
        settings = ClassificationSettings(feature_norm="none")
        data = folder_data(graph, settings, None)
        data.x = data.x.map(lambda rows: 0.1 * rows.double())
        trainer = HaloParts(communicator).trainer(model, data, graph.split(), CONFIG)
        history = run.run_training(trainer, {}).history
    if communicator.rank == 0:
        weights = {name: tensor.tolist() for name, tensor in model.state_dict().items()}
        with open(out, "w") as file:
            json.dump({"history": history, "weights": weights}, file)


def batches(folder, out, killed_rank=None, killed_epoch=0, resume=False):
    """Classify by mini-batches; a worker may be killed at the start of an epoch."""
    torch.set_num_threads(1)
    run.CHECKPOINT_SECONDS = 0.0
    if str(killed_rank) == os.environ["RANK"]:
        run_epoch = Trainer.run_epoch

        def until(trainer):
            if trainer.epoch == killed_epoch:
                os.kill(os.getpid(), signal.SIGKILL)
            return run_epoch(trainer)

        Trainer.run_epoch = until
    classifier = KappaGCNClassifier("H4", epochs=6, batch_size=40, num_neighbors=3, dropout=0.2, verbose=False)
    with process_group(60) as communicator:
        classify_folder(classifier, folder, out, group=communicator, resume=resume)
