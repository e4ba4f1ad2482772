"""Self-training: new weights also learn the classes that the best weights so far predict for nodes without a label."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.errors import TrainingError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training.tasks import NodeClassification

__all__ = ["SelfTraining"]

TEMPERATURE = 0.5  # divides the logits: predicted probabilities are squared, so that confident ones count more


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
        others = torch.ones(len(self.labels), dtype=torch.bool, device=self.labels.device)
        self.others = others.index_fill(0, labelled.to(others.device), False).nonzero().flatten()
        if not len(self.others):
            raise TrainingError("self_training: expected nodes that neither train nor stop, found none.")
        self.targets: Tensor | None = None

    @torch.no_grad()
    def learn_predictions(self) -> None:
        """Take what the network predicts now as the classes to learn."""
        scores = self.model.eval()(self.x, self.adjacency)[self.others]
        self.targets = (scores / TEMPERATURE).softmax(1)

    def loss(self) -> Tensor:
        """Cross-entropy on the training nodes, and from the second round on with the predictions."""
        scores = self._training_scores()
        loss = self._loss("train", scores[self.nodes["train"]])
        return loss if self.targets is None else loss + cross_entropy(scores[self.others], self.targets)
