"""Predictions, the final evaluation on test nodes, and loading a trained network."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.errors import CheckpointError, TrainingError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier, build_model
from kappagcn.training.checkpoint import load_tensors
from kappagcn.training.checks import check_graph, check_labels
from kappagcn.training.tasks import inputs

__all__ = ["final_evaluation", "load_model", "predict"]


@torch.no_grad()
def _scores(model: NodeClassifier, data: Data) -> Tensor:
    check_graph(model, data)
    scores: Tensor = model.eval()(*inputs(model, data))
    return scores


def predict(model: NodeClassifier, data: Data) -> Tensor:
    """Probabilities of the classes for all nodes, (N, C).

    >>> from kappagcn.graphs import disease
    >>> from kappagcn.models import KappaGCN
    >>> predict(KappaGCN(10, 2, "H4"), disease(200)).shape
    torch.Size([200, 2])
    """
    return _scores(model, data).softmax(1)


def final_evaluation(
    model: NodeClassifier, data: Data, split: Split | None = None, *, scores: Tensor | None = None
) -> dict[str, float]:
    """Accuracy, macro-averaged F1 and loss on the test nodes, by default those of ``data.test_mask``.

    Choose nothing by its results.

    Args:
        model: The network.
        data: The graph, with labels.
        split: Split with the test nodes.
        scores: Logits of all nodes, if already computed.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> sorted(final_evaluation(model, data, random_split(data.y, 0)))
    ['accuracy', 'loss', 'macro_f1']
    """
    split = Split.from_masks(data) if split is None else split
    nodes = split.final_test_nodes()
    if not len(nodes):
        raise TrainingError(f"{split.name}: expected test nodes for the final evaluation, found none.")
    scores = (_scores(model, data) if scores is None else scores)[nodes]
    check_labels(data)
    truth, predicted, classes = data.y[nodes], scores.argmax(1), scores.shape[1]
    if not 0 <= int(truth.min()) <= int(truth.max()) < classes:
        raise TrainingError(
            f"{split.name}: expected test nodes of classes 0 to {classes - 1}, found {int(truth.min())} to "
            f"{int(truth.max())}."
        )
    confusion = torch.bincount(classes * truth + predicted, minlength=classes**2).reshape(classes, classes).double()
    either = confusion.sum(0) + confusion.sum(1)
    return {
        "accuracy": float((predicted == truth).double().mean()),
        "macro_f1": float((2 * confusion.diag() / either)[either > 0].mean()),
        "loss": float(cross_entropy(scores, truth)),
    }


def load_model(folder: str | Path) -> NodeClassifier:
    """The network of a finished run, with its best weights.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.nn import TangentFeatures
    >>> from kappagcn.training import TrainingConfig, fit
    >>> data, model = TangentFeatures(0.1)(disease(200)), KappaGCN(10, 2, "H4")
    >>> with TemporaryDirectory() as folder:
    ...     _ = fit(model, data, random_split(data.y, 0), TrainingConfig(epochs=2), folder=f"{folder}/run")
    ...     torch.equal(predict(load_model(f"{folder}/run"), data), predict(model, data))
    True
    """
    path = Path(folder) / "model.safetensors"
    if not path.exists() and (Path(folder) / "checkpoint.safetensors").exists():
        raise CheckpointError(f"{folder}: expected a finished run, found one that was interrupted; resume it first.")
    tensors, about = load_tensors(path)
    try:
        model = build_model(about["model"], **about["options"])
        model = model.to(next(t.dtype for t in tensors.values() if t.is_floating_point()))
        model.load_state_dict(tensors)
    except (KeyError, TypeError, RuntimeError, ValueError) as problem:
        raise CheckpointError(f"{path}: expected weights of a network of this version, found {problem}.") from None
    return model.eval()
