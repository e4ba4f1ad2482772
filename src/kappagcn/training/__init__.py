"""Training: epochs with early stopping, runs that survive a kill, one evaluation on test nodes at the end.

Names of tasks stand in the rooms of their tasks; users import them from here as in version 0.2.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kappagcn.classification.evaluation import final_evaluation, predict
    from kappagcn.classification.fitting import FullGraph, Strategy, fit
    from kappagcn.classification.minibatch import MiniBatch, MiniBatches
    from kappagcn.classification.parts import Partitioned
    from kappagcn.classification.task import NodeClassification, SelfTraining
    from kappagcn.embedding.graph_distances import GraphDistances
    from kappagcn.embedding.near_pairs import NearPairs
    from kappagcn.embedding.neighbour_precision import mean_average_precision
    from kappagcn.embedding.pair_objectives import distortion, pair_loss
    from kappagcn.embedding.quality import Distortion, measure
    from kappagcn.embedding.ranking import Neighbours, ranking_loss
    from kappagcn.embedding.tasks import EmbeddingTask, RankingTask, SampledEmbeddingTask, SharedEmbeddingTask
    from kappagcn.links.fitting import fit_links, link_task
    from kappagcn.links.metrics import hits_at, link_metrics, mean_reciprocal_rank
    from kappagcn.links.task import LinkBatches, LinkPrediction, evaluate_links
    from kappagcn.nn.point_distances import distances_from
    from kappagcn.progress import reporting
    from kappagcn.training.checkpoint import CheckpointFolder, load_model
    from kappagcn.training.estimate import average_precision, roc_auc
    from kappagcn.training.groups import parameter_groups
    from kappagcn.training.layer_by_layer import layerwise
    from kappagcn.training.minibatch import MiniBatchTrainer
    from kappagcn.training.parts import PartTrainer
    from kappagcn.training.quasi_newton import QuasiNewtonTrainer
    from kappagcn.training.resources import keep_freed_memory
    from kappagcn.training.run import TrainingResult, run_training, train
    from kappagcn.training.settings import TrainingSettings
    from kappagcn.training.stopping import EarlyStopping
    from kappagcn.training.tasks import Task
    from kappagcn.training.trainer import Trainer, seeded

# Imported on first use: the command line reads settings without waiting for torch.
_HOMES = {
    "CheckpointFolder": "training.checkpoint",
    "Distortion": "embedding.quality",
    "EarlyStopping": "training.stopping",
    "EmbeddingTask": "embedding.tasks",
    "FullGraph": "classification.fitting",
    "GraphDistances": "embedding.graph_distances",
    "LinkBatches": "links.task",
    "LinkPrediction": "links.task",
    "MiniBatch": "classification.minibatch",
    "MiniBatchTrainer": "training.minibatch",
    "MiniBatches": "classification.minibatch",
    "NearPairs": "embedding.near_pairs",
    "Neighbours": "embedding.ranking",
    "NodeClassification": "classification.task",
    "PartTrainer": "training.parts",
    "Partitioned": "classification.parts",
    "QuasiNewtonTrainer": "training.quasi_newton",
    "RankingTask": "embedding.tasks",
    "SampledEmbeddingTask": "embedding.tasks",
    "SelfTraining": "classification.task",
    "SharedEmbeddingTask": "embedding.tasks",
    "Strategy": "classification.fitting",
    "Task": "training.tasks",
    "Trainer": "training.trainer",
    "TrainingSettings": "training.settings",
    "TrainingResult": "training.run",
    "average_precision": "training.estimate",
    "distances_from": "nn.point_distances",
    "distortion": "embedding.pair_objectives",
    "evaluate_links": "links.task",
    "final_evaluation": "classification.evaluation",
    "fit": "classification.fitting",
    "fit_links": "links.fitting",
    "hits_at": "links.metrics",
    "keep_freed_memory": "training.resources",
    "layerwise": "training.layer_by_layer",
    "link_metrics": "links.metrics",
    "link_task": "links.fitting",
    "load_model": "training.checkpoint",
    "mean_average_precision": "embedding.neighbour_precision",
    "mean_reciprocal_rank": "links.metrics",
    "measure": "embedding.quality",
    "pair_loss": "embedding.pair_objectives",
    "parameter_groups": "training.groups",
    "predict": "classification.evaluation",
    "ranking_loss": "embedding.ranking",
    "reporting": "progress",
    "roc_auc": "training.estimate",
    "run_training": "training.run",
    "seeded": "training.trainer",
    "train": "training.run",
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
    "TrainingResult",
    "TrainingSettings",
    "average_precision",
    "distances_from",
    "distortion",
    "evaluate_links",
    "final_evaluation",
    "fit",
    "fit_links",
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
    "predict",
    "ranking_loss",
    "reporting",
    "roc_auc",
    "run_training",
    "seeded",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"kappagcn.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'kappagcn.training' has no attribute {name!r}")
