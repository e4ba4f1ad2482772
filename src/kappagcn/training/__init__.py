"""Training: epochs with early stopping, runs that survive a kill, one evaluation on test nodes at the end."""

from importlib import import_module
from typing import Any

from kappagcn.progress import reporting
from kappagcn.training.checkpoint import CheckpointFolder, load_model
from kappagcn.training.config import TrainingConfig
from kappagcn.training.groups import parameter_groups
from kappagcn.training.layerwise import layerwise
from kappagcn.training.memory import keep_freed_memory
from kappagcn.training.minibatch import MiniBatch, MiniBatches, MiniBatchTrainer
from kappagcn.training.node_columns import NodeColumns, part_stream
from kappagcn.training.part_fitting import evaluate_parts, fit_parts, part_files
from kappagcn.training.part_writing import write_parts
from kappagcn.training.parts import Partitioned, PartTrainer
from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.run import TrainingResult, run_training, train
from kappagcn.training.stopping import EarlyStopping
from kappagcn.training.tasks import NodeClassification, Task
from kappagcn.training.trainer import Trainer, seeded

# What stands in the room of its task, and is imported from here as in version 0.2.
_TASKS = {
    "Distortion": "embedding.quality",
    "EmbeddingTask": "embedding.tasks",
    "FullGraph": "classification.fitting",
    "GraphDistances": "embedding.graph_distances",
    "LinkBatches": "links.task",
    "LinkPrediction": "links.task",
    "NearPairs": "embedding.near_pairs",
    "Neighbours": "embedding.ranking",
    "RankingTask": "embedding.tasks",
    "SampledEmbeddingTask": "embedding.tasks",
    "SelfTraining": "classification.self_training",
    "SharedEmbeddingTask": "embedding.tasks",
    "Strategy": "classification.fitting",
    "average_precision": "links.metrics",
    "distances_from": "embedding.pair_objectives",
    "distortion": "embedding.pair_objectives",
    "evaluate_links": "links.task",
    "final_evaluation": "classification.evaluation",
    "fit": "classification.fitting",
    "fit_links": "links.fitting",
    "hits_at": "links.metrics",
    "link_metrics": "links.metrics",
    "link_task": "links.fitting",
    "mean_average_precision": "embedding.neighbour_precision",
    "mean_reciprocal_rank": "links.metrics",
    "measure": "embedding.quality",
    "pair_loss": "embedding.pair_objectives",
    "predict": "classification.evaluation",
    "ranking_loss": "embedding.ranking",
    "roc_auc": "links.metrics",
}

__all__ = [
    "CheckpointFolder",
    "Distortion",
    "EarlyStopping",
    "EmbeddingTask",
    "FullGraph",
    "GraphDistances",
    "LinkBatches",
    "LinkPrediction",
    "MiniBatch",
    "MiniBatchTrainer",
    "MiniBatches",
    "NearPairs",
    "Neighbours",
    "NodeClassification",
    "NodeColumns",
    "PartTrainer",
    "Partitioned",
    "QuasiNewtonTrainer",
    "RankingTask",
    "SampledEmbeddingTask",
    "SelfTraining",
    "SharedEmbeddingTask",
    "Strategy",
    "Task",
    "Trainer",
    "TrainingConfig",
    "TrainingResult",
    "average_precision",
    "distances_from",
    "distortion",
    "evaluate_links",
    "evaluate_parts",
    "final_evaluation",
    "fit",
    "fit_links",
    "fit_parts",
    "hits_at",
    "keep_freed_memory",
    "layerwise",
    "link_metrics",
    "link_task",
    "load_model",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "measure",
    "pair_loss",
    "parameter_groups",
    "part_files",
    "part_stream",
    "predict",
    "ranking_loss",
    "reporting",
    "roc_auc",
    "run_training",
    "seeded",
    "train",
    "write_parts",
]


def __getattr__(name: str) -> Any:
    if name in _TASKS:
        return getattr(import_module(f"kappagcn.{_TASKS[name]}"), name)
    raise AttributeError(f"module 'kappagcn.training' has no attribute {name!r}")
