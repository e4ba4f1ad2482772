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
    from kappagcn.embedding.graph_distances import GraphDistances, NearPairs
    from kappagcn.embedding.pair_objectives import distortion, pair_loss
    from kappagcn.embedding.quality import Distortion, mean_average_precision, measure
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
    from kappagcn.training.minibatch import MiniBatchTrainer, PartTrainer
    from kappagcn.training.quasi_newton import QuasiNewtonTrainer
    from kappagcn.training.resources import keep_freed_memory
    from kappagcn.training.run import TrainingResult, run_training, train
    from kappagcn.training.settings import TrainingSettings
    from kappagcn.training.stopping import EarlyStopping
    from kappagcn.training.tasks import Task
    from kappagcn.training.trainer import Trainer, seeded

# Imported on first use: the command line reads settings without waiting for torch.
_HOMES = {
    "classification.evaluation": ("final_evaluation", "predict"),
    "classification.fitting": ("FullGraph", "Strategy", "fit"),
    "classification.minibatch": ("MiniBatch", "MiniBatches"),
    "classification.parts": ("Partitioned",),
    "classification.task": ("NodeClassification", "SelfTraining"),
    "embedding.graph_distances": ("GraphDistances", "NearPairs"),
    "embedding.pair_objectives": ("distortion", "pair_loss"),
    "embedding.quality": ("Distortion", "mean_average_precision", "measure"),
    "embedding.ranking": ("Neighbours", "ranking_loss"),
    "embedding.tasks": ("EmbeddingTask", "RankingTask", "SampledEmbeddingTask", "SharedEmbeddingTask"),
    "links.fitting": ("fit_links", "link_task"),
    "links.metrics": ("hits_at", "link_metrics", "mean_reciprocal_rank"),
    "links.task": ("LinkBatches", "LinkPrediction", "evaluate_links"),
    "nn.point_distances": ("distances_from",),
    "progress": ("reporting",),
    "training.checkpoint": ("CheckpointFolder", "load_model"),
    "training.estimate": ("average_precision", "roc_auc"),
    "training.groups": ("parameter_groups",),
    "training.layer_by_layer": ("layerwise",),
    "training.minibatch": ("MiniBatchTrainer", "PartTrainer"),
    "training.quasi_newton": ("QuasiNewtonTrainer",),
    "training.resources": ("keep_freed_memory",),
    "training.run": ("TrainingResult", "run_training", "train"),
    "training.settings": ("TrainingSettings",),
    "training.stopping": ("EarlyStopping",),
    "training.tasks": ("Task",),
    "training.trainer": ("Trainer", "seeded"),
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
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"kappagcn.{module}"), name)
    raise AttributeError(f"module 'kappagcn.training' has no attribute {name!r}")
