"""Link prediction as a training task: training edges against randomly drawn pairs; whole graph or mini-batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError
from kappagcn.graphs import EdgeSplit, NegativeSampler
from kappagcn.graphs.negatives import pair_keys
from kappagcn.links.metrics import link_metrics
from kappagcn.models import FreePoints, LinkPredictor
from kappagcn.training.estimate import roc_auc
from kappagcn.training.minibatch import Batches, SampledNetwork
from kappagcn.training.setting_field import check_count
from kappagcn.training.tasks import inputs

Array = NDArray[np.float64]


class LinkPrediction:
    """Cross-entropy of training edges and as many pairs without an edge, drawn in each step; validation loss and AUC.

    Messages pass along training edges alone. Validation and test edges are hidden, so a drawn pair can, rarely, be one
    of them.

    With `folds` above 1 the training edges are divided into as many parts, and each step predicts the edges of one part
    from messages along the others. Otherwise every edge that is predicted in training carries a message, and no
    validation or test edge does: on a tree a network then only learns along which pairs messages pass.

    Args:
        model: Encoder and decoder.
        data: The whole graph; only the split's training view of it is used.
        split: Edges for training and validation.
        folds: Number of parts of the training edges, 1 for none.
        negatives: How pairs are drawn, ``"uniform"`` or ``"degree"``, see `kappagcn.graphs.NegativeSampler`.
        evaluate_every: Epochs between evaluations on validation pairs; the first epoch has one.
        communicator: Connects processes that share the pairs of each step; one process by default.

    >>> from kappagcn.graphs import disease, edge_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), LinkPredictor(KappaGCN(10, None, "H4"))
    >>> task = LinkPrediction(model, data, edge_split(data, 0))
    >>> with torch.no_grad():
    ...     sorted(task.metrics())
    ['validation_auc', 'validation_loss']
    """

    def __init__(
        self,
        model: LinkPredictor,
        data: Data,
        split: EdgeSplit,
        *,
        folds: int = 1,
        negatives: str = "uniform",
        evaluate_every: int = 1,
        communicator: Communicator | None = None,
    ) -> None:
        if not (split.validation.edges.numel() and split.validation.others.numel()):
            raise ConfigError(f"{split.name}: expected validation edges and non-edges to stop by, found none.")
        view = split.training_view(data)
        self.model, self.communicator = model, communicator or Communicator()
        self.x: Any = None
        self.adjacency: Any = None
        if not isinstance(model.encoder, FreePoints):
            self.x, self.adjacency = inputs(model.encoder, view)
        self.edges, self.validation = split.train.to(view.edge_index.device), split.validation
        self.folds = min(check_count("folds", folds), self.edges.shape[1])
        if self.adjacency is None or not self._aggregates():
            self.folds = 1
        self.parts = [(self.edges, self.adjacency)] if self.folds == 1 else self._parts(view)
        self.sampler = NegativeSampler(view.edge_index.cpu(), view.num_nodes, negatives)
        self.negatives, self.evaluate_every = negatives, check_count("evaluate_every", evaluate_every)

    def _aggregates(self) -> bool:
        encoder = self.model.encoder
        return not isinstance(encoder, FreePoints) and any(step.aggregates for step in encoder.steps())

    def _parts(self, view: Data) -> list[tuple[Tensor, Any]]:
        """Edges of each part, divided by a fixed seed, and the matrix of all other training edges."""
        encoder = self.model.encoder
        assert not isinstance(encoder, FreePoints)
        keys, parts = pair_keys(view.edge_index, view.num_nodes), []
        order = torch.randperm(self.edges.shape[1], generator=torch.Generator().manual_seed(0))
        for own in order.chunk(self.folds):
            edges = self.edges[:, own]
            kept = ~torch.isin(keys, pair_keys(edges, view.num_nodes))
            weight = view.get("edge_weight")
            weight = None if weight is None else weight[kept]
            parts.append((edges, encoder.adjacency(self.x, view.edge_index[:, kept], weight)))
        return parts

    def loss(self) -> Tensor:
        """Mean cross-entropy of one part; those of all ranks add up to it."""
        edges, adjacency = self.parts[int(torch.randint(len(self.parts), ())) if self.folds > 1 else 0]
        count, rank, size = edges.shape[1], self.communicator.rank, self.communicator.world_size
        others = self.sampler.sample(count).to(edges.device)
        return self._loss(self.model(self.x, adjacency), edges[:, rank::size], others[:, rank::size], count)

    def _loss(self, v: Tensor, edges: Tensor, others: Tensor, count: int) -> Tensor:
        """This rank's share of the mean over `count` edges and as many other pairs."""
        scores = self.model.decode(v, torch.cat((edges, others), 1))
        labels = torch.zeros_like(scores)
        labels[: edges.shape[1]] = 1
        return binary_cross_entropy_with_logits(scores, labels, reduction="sum") / (2 * count)

    def metrics(self) -> dict[str, float]:
        """Loss and AUC on the validation pairs, every few epochs."""
        if (self.communicator.epoch - 1) % self.evaluate_every:
            return {}
        return self._metrics(self.scores(self.validation.both))

    def _metrics(self, scores: Tensor) -> dict[str, float]:
        loss = float(binary_cross_entropy_with_logits(scores, self.validation.labels.to(scores)))
        values, count = scores.double().cpu().numpy(), self.validation.edges.shape[1]
        is_finite = bool(torch.isfinite(scores).all())  # if not, the trainer reports the divergence
        return {
            "validation_loss": loss if is_finite else math.nan,
            "validation_auc": roc_auc(values[:count], values[count:]) if is_finite else math.nan,
        }

    @torch.no_grad()
    def scores(self, pairs: Tensor) -> Tensor:
        """Log-odds of pairs, (P,)."""
        return self.model.decode(self.model(self.x, self.adjacency), pairs.to(self.edges.device))

    def watched(self, metrics: dict[str, float]) -> tuple[float, float] | None:
        """Minus the validation AUC for early stopping: the loss may rise while the order of pairs still improves."""
        score = metrics.get("validation_auc")
        return None if score is None else (-score, score)

    def identity(self) -> dict[str, Any]:
        """Settings, beside network, data and configuration, that a resumed run must share."""
        return {"negatives": self.negatives, "evaluate_every": self.evaluate_every, "folds": self.folds}


class LinkBatches(Batches, LinkPrediction):
    """Link prediction in mini-batches of training edges, with sampled neighbours of their nodes.

    Evaluation uses all neighbours, layer by layer. The processes of a group share each batch.

    Args:
        model: Encoder and decoder.
        data: The whole graph; only the split's training view of it is used.
        split: Edges for training and validation.
        num_neighbors: Neighbours sampled for each node: one number, or one for each hop.
        batch_size: Training edges in a batch, over all ranks; as many other pairs are drawn for them.
        options: Further arguments of `LinkPrediction`.

    >>> from kappagcn.graphs import disease, edge_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), LinkPredictor(KappaGCN(10, None, "H4"))
    >>> task = LinkBatches(model, data, edge_split(data, 0), batch_size=64)
    >>> [task.loss().dim() for count in task.batches(seed=0, epoch=1)]
    [0, 0, 0]
    """

    def __init__(
        self,
        model: LinkPredictor,
        data: Data,
        split: EdgeSplit,
        *,
        num_neighbors: int | Sequence[int] = 10,
        batch_size: int = 4096,
        **options: Any,
    ) -> None:
        super().__init__(model, data, split, **options)
        self.batch_size = check_count("batch_size", batch_size)
        self.network: SampledNetwork | None = None
        if not isinstance(model.encoder, FreePoints):
            self.network = SampledNetwork(model.encoder, self.x, self.adjacency, num_neighbors)

    def _count(self) -> int:
        return self.edges.shape[1]

    def _share(self, batch: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, int]:
        """Edges and other pairs, and the size of the batch."""
        rank, size = self.communicator.rank, self.communicator.world_size
        edges, others = self.edges[:, batch], self.sampler.sample(len(batch), generator).to(self.edges.device)
        return edges[:, rank::size], others[:, rank::size], len(batch)

    def loss(self) -> Tensor:
        """Cross-entropy of the current batch; those of all ranks add up to its mean."""
        edges, others, count = self._current()
        nodes, places = torch.cat((edges, others), 1).unique(return_inverse=True)
        if not len(nodes):
            nodes = self.edges[0, :1]  # a rank without a share takes part in the sums of gradients, with a loss of 0
        edges, others = places.split([edges.shape[1], others.shape[1]], 1)
        vectors = self._points(nodes) if self.network is None else self.network.sampled(nodes)
        return self._loss(vectors, edges, others, count)

    def _points(self, nodes: Tensor) -> Tensor:
        points: Tensor = self.model.encoder()
        return points[nodes]

    @torch.no_grad()
    def scores(self, pairs: Tensor) -> Tensor:
        """Log-odds of pairs from all neighbours, (P,)."""
        nodes, places = pairs.to(self.edges.device).unique(return_inverse=True)
        v = self._points(nodes) if self.network is None else self.network.exact(nodes)
        return self.model.decode(v, places)

    def metrics(self) -> dict[str, float]:
        """Loss and AUC from all neighbours, computed on rank 0, so that all ranks stop together."""
        return self.communicator.run_on_rank0(super().metrics)

    def identity(self) -> dict[str, Any]:
        """Settings that a resumed run must share, with batch size and numbers of neighbours."""
        neighbors = [] if self.network is None else list(self.network.num_neighbors)
        return {**super().identity(), "batches": {"batch_size": self.batch_size, "num_neighbors": neighbors}}


def evaluate_links(task: LinkPrediction, split: EdgeSplit) -> dict[str, float]:
    """ROC AUC, average precision, hits@k and MRR on the test pairs. Do not choose models or settings by its results.

    >>> from kappagcn.graphs import disease, edge_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), LinkPredictor(KappaGCN(10, None, "H4"))
    >>> split = edge_split(data, 0)
    >>> 0 <= evaluate_links(LinkPrediction(model, data, split), split)["roc_auc"] <= 1
    True
    """
    return link_metrics(*test_scores(task, split))


def test_scores(task: LinkPrediction, split: EdgeSplit) -> tuple[Array, Array]:
    """Log-odds of the test edges and of the other test pairs, from messages along training edges alone."""
    pairs = split.final_test_pairs()
    task.model.eval()
    scores: Array = task.scores(pairs.both).double().cpu().numpy()
    count = pairs.edges.shape[1]
    return scores[:count], scores[count:]
