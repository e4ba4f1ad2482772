"""Training: epochs with early stopping, runs that survive a kill, one evaluation on test nodes at the end."""

from kappagcn.progress import reporting
from kappagcn.training.checkpoint import CheckpointFolder, load_model
from kappagcn.training.config import TrainingConfig
from kappagcn.training.embedding_quality import Distortion, measure
from kappagcn.training.embedding_tasks import EmbeddingTask, RankingTask, SampledEmbeddingTask, SharedEmbeddingTask
from kappagcn.training.evaluation import final_evaluation, predict
from kappagcn.training.fitting import FullGraph, Strategy, fit
from kappagcn.training.graph_distances import GraphDistances
from kappagcn.training.groups import parameter_groups
from kappagcn.training.layerwise import layerwise
from kappagcn.training.link_fitting import fit_links, link_task
from kappagcn.training.link_metrics import average_precision, hits_at, link_metrics, mean_reciprocal_rank, roc_auc
from kappagcn.training.links import LinkBatches, LinkPrediction, evaluate_links
from kappagcn.training.memory import keep_freed_memory
from kappagcn.training.minibatch import MiniBatch, MiniBatches, MiniBatchTrainer
from kappagcn.training.near_pairs import NearPairs
from kappagcn.training.neighbour_precision import mean_average_precision
from kappagcn.training.node_columns import NodeColumns, part_stream
from kappagcn.training.pair_objectives import distances_from, distortion, pair_loss
from kappagcn.training.part_fitting import evaluate_parts, fit_parts, part_files
from kappagcn.training.part_writing import write_parts
from kappagcn.training.parts import Partitioned, PartTrainer
from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.ranking import Neighbours, ranking_loss
from kappagcn.training.run import TrainingResult, run_training, train
from kappagcn.training.self_training import SelfTraining
from kappagcn.training.stopping import EarlyStopping
from kappagcn.training.tasks import NodeClassification, Task
from kappagcn.training.trainer import Trainer, seeded

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
