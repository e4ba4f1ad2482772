"""Training: epochs with early stopping, runs that survive a kill, one evaluation on test nodes at the end."""

from kappagcn.progress import reporting
from kappagcn.training.checkpoint import RunFolder
from kappagcn.training.config import TrainingConfig
from kappagcn.training.distortion_loss import Distortion, GraphDistances, distances_from, distortion, measure
from kappagcn.training.distortion_task import DistortionTask, SampledDistortionTask
from kappagcn.training.evaluation import final_evaluation, load_model, predict
from kappagcn.training.fitting import FullGraph, Strategy, fit
from kappagcn.training.layerwise import layerwise
from kappagcn.training.memory import keep_freed_memory
from kappagcn.training.minibatch import MiniBatch, MiniBatches, MiniBatchTrainer
from kappagcn.training.near_pairs import NearPairs
from kappagcn.training.parts import Partitioned, PartTrainer
from kappagcn.training.precision import mean_average_precision
from kappagcn.training.run import TrainingResult, run_training, train
from kappagcn.training.stopping import EarlyStopping
from kappagcn.training.tasks import NodeClassification, Task
from kappagcn.training.trainer import Trainer, seeded

__all__ = [
    "Distortion",
    "DistortionTask",
    "EarlyStopping",
    "FullGraph",
    "GraphDistances",
    "MiniBatch",
    "MiniBatchTrainer",
    "MiniBatches",
    "NearPairs",
    "NodeClassification",
    "PartTrainer",
    "Partitioned",
    "RunFolder",
    "SampledDistortionTask",
    "Strategy",
    "Task",
    "Trainer",
    "TrainingConfig",
    "TrainingResult",
    "distances_from",
    "distortion",
    "final_evaluation",
    "fit",
    "keep_freed_memory",
    "layerwise",
    "load_model",
    "mean_average_precision",
    "measure",
    "predict",
    "reporting",
    "run_training",
    "seeded",
    "train",
]
