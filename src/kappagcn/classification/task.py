"""Node classification as a training task: cross-entropy on training nodes, in self-training on predictions too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training.tasks import inputs, versions

FEW = 50  # stopping nodes below which accuracy is too coarse to tell epochs apart
TEMPERATURE = 0.5  # divides the logits: predicted probabilities are squared, so that confident ones count more


class NodeClassification:
    """Cross-entropy on the training nodes; loss and accuracy on the stopping and validation nodes.

    Labels of test nodes are hidden before anything is computed. Without stopping nodes, training nodes decide on early
    stopping. The best weights are those with the highest accuracy on the stopping nodes; where these are fewer than 50,
    with the highest mean probability of their classes. Where outputs in training are those of evaluation, an epoch is
    one forward pass: the scores after one step give its metrics, and the loss of the next step.

    Args:
        model: The network.
        data: The graph, with labels.
        split: Nodes for training, stopping and validation.
        communicator: Connects the processes that share the nodes; one process by default.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> task = NodeClassification(model, data, random_split(data.y, 0))
    >>> with torch.no_grad():
    ...     sorted(task.metrics())
    ['stopping_accuracy', 'stopping_loss', 'stopping_probability', 'validation_accuracy', 'validation_loss']
    """

    _computed: tuple[Tensor, list[int]] | None = None  # scores of the last metrics, and the versions of the weights

    def __init__(
        self, model: NodeClassifier, data: Data, split: Split, communicator: Communicator | None = None
    ) -> None:
        view = split.training_view(data)
        self.model, self.labels, self.communicator = model, view.y, communicator or Communicator()
        self.x, self.adjacency = inputs(model, view)
        stopping = split.stopping if len(split.stopping) else split.train
        self.nodes = {"train": split.train, "stopping": stopping, "validation": split.validation}
        self.counts = {name: len(nodes) for name, nodes in self.nodes.items()}

    def loss(self) -> Tensor:
        """Cross-entropy on the training nodes; those of all ranks add up to the mean."""
        return self._loss("train", self._training_scores()[self.nodes["train"]])

    def _training_scores(self) -> Tensor:
        """Scores of all nodes: those of the last metrics, unless weights have changed since."""
        scores, self._computed = self._computed, None
        if scores is not None and scores[1] == versions(self.model):
            return scores[0]
        computed: Tensor = self.model(self.x, self.adjacency)
        return computed

    def _can_be_reused(self) -> bool:
        """Whether the scores of the metrics are also those of the next training step."""
        return self.model.is_same_in_training

    def _loss(self, part: str, scores: Tensor) -> Tensor:
        """This rank's share of the mean loss over a part of the nodes."""
        return cross_entropy(scores, self.labels[self.nodes[part]].long(), reduction="sum") / self.counts[part]

    def metrics(self) -> dict[str, float]:
        """Loss and accuracy over the stopping and validation nodes of all ranks."""
        self._computed = None
        if self._can_be_reused():
            with torch.enable_grad():
                scores = self.model(self.x, self.adjacency)
            self._computed = scores, versions(self.model)
        else:
            scores = self.model(self.x, self.adjacency)
        parts = {name: scores.detach()[self.nodes[name]] for name in ("stopping", "validation")}
        return self._metrics(parts, self.communicator)

    def _metrics(self, scores: dict[str, Tensor], communicator: Communicator) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for part, rows in scores.items():
            if self.counts[part]:
                truth = self.labels[self.nodes[part]].long()
                right, probability = rows.argmax(1) == truth, rows.softmax(1).gather(1, truth[:, None])
                loss, correct, probable = communicator.all_reduce_sum(
                    self._loss(part, rows), right.sum(), probability.sum()
                )
                metrics |= {f"{part}_loss": loss, f"{part}_accuracy": correct / self.counts[part]}
                if part == "stopping" and self.counts[part] < FEW:
                    metrics["stopping_probability"] = probable / self.counts[part]
        return metrics

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """Loss of the stopping nodes; their accuracy, or where they are few the mean probability of their classes."""
        return metrics["stopping_loss"], metrics.get("stopping_probability", metrics["stopping_accuracy"])

    def identity(self) -> dict[str, Any]:
        """Settings, beside network, data and configuration, that a resumed run must share."""
        return {}

    def collapsed(self) -> bool:
        """Whether fewer units of the last hidden layer than there are classes are active on any node.

        A unit of a ReLU layer that is 0 on every node gets no gradient and stays 0; the few remaining units cannot
        separate the classes.
        """
        return self._too_few_active(self.model.tangent(self.x, self.adjacency))

    def _too_few_active(self, rows: Tensor) -> bool:
        active = self.communicator.all_reduce_sum(*(rows != 0).any(0).long())
        return sum(count > 0 for count in active) < min(int(self.model.options["num_classes"]), rows.shape[1])

    def capped_rows(self) -> int:
        """Number of rows of all layers that lie farther out than the precision resolves."""
        return int(self.communicator.all_reduce_sum(self.model.capped_rows(self.x, self.adjacency))[0])


class SelfTraining(NodeClassification):
    """Node classification whose loss, from the second round on, has predicted classes too.

    In the first round the loss is the cross-entropy on the training nodes. `learn_predictions` starts a round:
    to the loss the cross-entropy between the network and its sharpened probabilities of then is added, averaged over
    all nodes that neither train nor stop. Only the features and edges of these nodes are used, not their labels.

    Args:
        model: The network.
        data: The graph, with labels.
        split: Nodes for training, stopping and validation.

    Attributes:
        targets: Probabilities to learn, (M, C); None in the first round.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> task = SelfTraining(model, data, random_split(data.y, 0))
    >>> task.learn_predictions()
    >>> task.targets.shape
    torch.Size([60, 2])
    """

    def __init__(self, model: NodeClassifier, data: Data, split: Split) -> None:
        super().__init__(model, data, split)
        labelled = torch.cat([self.nodes["train"], self.nodes["stopping"]])
        is_free = torch.ones(len(self.labels), dtype=torch.bool, device=self.labels.device)
        self.unlabelled = is_free.index_fill(0, labelled.to(is_free.device), False).nonzero().flatten()
        if not len(self.unlabelled):
            raise ConfigError("self_training: expected nodes that neither train nor stop, found none.")
        self.targets: Tensor | None = None

    @torch.no_grad()
    def learn_predictions(self) -> None:
        """Take what the network predicts now as the classes to learn."""
        scores = self.model.eval()(self.x, self.adjacency)[self.unlabelled]
        self.targets = (scores / TEMPERATURE).softmax(1)

    def loss(self) -> Tensor:
        """Cross-entropy on the training nodes, and from the second round on with the predictions."""
        scores = self._training_scores()
        loss = self._loss("train", scores[self.nodes["train"]])
        return loss if self.targets is None else loss + cross_entropy(scores[self.unlabelled], self.targets)
