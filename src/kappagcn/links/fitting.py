"""`fit_links`: train a link predictor on the training edges of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError
from kappagcn.graphs import EdgeSplit
from kappagcn.links.task import LinkBatches, LinkPrediction
from kappagcn.models import FreePoints, LinkPredictor
from kappagcn.training.minibatch import MiniBatchTrainer
from kappagcn.training.run import RunOptions, TrainingResult, run_task
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.tasks import check_graph
from kappagcn.training.trainer import Trainer


def link_task(
    model: LinkPredictor,
    data: Data,
    split: EdgeSplit,
    *,
    batch_size: int | None = None,
    num_neighbors: int | Sequence[int] = 10,
    **options: Any,
) -> LinkPrediction:
    """The task of a link predictor: on the whole graph, or in mini-batches of edges.

    >>> from kappagcn.graphs import disease, edge_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), LinkPredictor(KappaGCN(10, None, "H4"))
    >>> link_task(model, data, edge_split(data, 0), batch_size=64).batch_size
    64
    """
    if not isinstance(model, LinkPredictor):
        raise ConfigError(f"expected a LinkPredictor, found {type(model).__name__}.")
    if isinstance(model.encoder, FreePoints):
        if len(model.encoder.points) != data.num_nodes:
            raise ConfigError(f"expected {data.num_nodes} free points, found {len(model.encoder.points)}.")
    else:
        check_graph(model.encoder, data)
    if batch_size is None:
        return LinkPrediction(model, data, split, **options)
    return LinkBatches(model, data, split, batch_size=batch_size, num_neighbors=num_neighbors, **options)


def fit_links(
    model: LinkPredictor,
    data: Data,
    split: EdgeSplit,
    config: TrainingSettings | None = None,
    *,
    folds: int = 1,
    negatives: str = "uniform",
    evaluate_every: int = 1,
    batch_size: int | None = None,
    num_neighbors: int | Sequence[int] = 10,
    group: ProcessGroup | Communicator | None = None,
    **run: Unpack[RunOptions],
) -> TrainingResult:
    """Train a link predictor; at the end it holds the weights of its best epoch by validation AUC.

    Args:
        model: Encoder and decoder, with their initial weights.
        data: The graph, with features where the encoder is a network; validation and test edges stay hidden.
        split: Edges for training, validation and test.
        config: Epochs, patience, learning rates, regularisation and seed.
        folds: Parts of the training edges; each step predicts one from messages along the others (`LinkPrediction`).
            1 in mini-batches.
        negatives: How pairs without an edge are drawn: ``"uniform"`` or ``"degree"``.
        evaluate_every: Epochs between evaluations on validation pairs.
        batch_size: Training edges in a mini-batch; None for steps over the whole graph.
        num_neighbors: Neighbours sampled for each node of a mini-batch, -1 for all; or one number for each hop.
        group: Process group of torch.distributed whose processes share the pairs of each step; all of them call this
            with the same arguments, and rank 0 alone writes.
        **run: Run folder, resuming, checkpoints and callbacks, see `run_training`.

    >>> from kappagcn.graphs import disease, edge_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.nn import TangentFeatures
    >>> data = TangentFeatures(scale=0.1)(disease(200))
    >>> model = LinkPredictor(KappaGCN(10, None, "H4"))
    >>> fit_links(model, data, edge_split(data, 0), TrainingSettings(epochs=5)).epochs
    5
    """
    config = TrainingSettings() if config is None else config
    communicator = Communicator.of(group)
    options: dict[str, Any] = {"folds": folds, "negatives": negatives, "evaluate_every": evaluate_every}
    options["communicator"] = communicator
    task = link_task(model, data, split, batch_size=batch_size, num_neighbors=num_neighbors, **options)
    if isinstance(task, LinkBatches):
        trainer: Trainer = MiniBatchTrainer(model, task, config, regularised=model.regularised())
    else:
        trainer = Trainer(model, task, config, regularised=model.regularised(), communicator=communicator)
    encoder: Any = model.encoder
    is_free = isinstance(encoder, FreePoints)
    encoder_options = {"space": encoder.manifold.signature} if is_free else encoder.options
    about = {"model": "free" if is_free else encoder.name, "options": {"encoder": encoder_options, **model.options}}
    tensors = {
        "pairs": (split.train, *split.validation, *split.final_test_pairs()),
        "data": (data.get("x"), data.edge_index, data.get("edge_weight")),
    }
    return run_task(trainer, encoder, {**about, "split": split.name}, tensors, **run)
