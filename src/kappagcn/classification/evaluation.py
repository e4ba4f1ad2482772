"""Predictions of a node classifier, its final evaluation on test nodes, accuracy of several runs, intervals of κ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.classification.fitting import check_labels
from kappagcn.errors import ConfigError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training.curvature_interval import CurvatureInterval, interval_of, upper_limit
from kappagcn.training.estimate import Estimate, drawn_variance, over_splits, roc_auc
from kappagcn.training.run import TrainingResult, curvature_path
from kappagcn.training.tasks import check_graph, inputs

Record = dict[str, Any]
REFINEMENTS = 6


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


def final_evaluation(model: NodeClassifier, data: Data, split: Split | None = None) -> dict[str, float | None]:
    """Accuracy, balanced accuracy, macro F1, AUC and loss on the test nodes, by default those of ``data.test_mask``.

    Do not choose models or settings by its results. The AUC is the mean over classes of the AUC of one class against
    all others; None if the test nodes are of one class.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> sorted(final_evaluation(model, data, random_split(data.y, 0)))
    ['accuracy', 'auc', 'balanced_accuracy', 'loss', 'macro_f1']
    """
    return evaluate_scores(_scores(model, data), data, Split.from_masks(data) if split is None else split)


def evaluate_scores(scores: Tensor, data: Data, split: Split) -> dict[str, float | None]:
    """`final_evaluation` from logits of all nodes, (N, C)."""
    nodes = split.final_test_nodes()
    if not len(nodes):
        raise ConfigError(f"{split.name}: expected test nodes for the final evaluation, found none.")
    check_labels(data)
    scores = scores[nodes]
    truth, predicted, classes = data.y[nodes], scores.argmax(1), scores.shape[1]
    if not 0 <= int(truth.min()) <= int(truth.max()) < classes:
        raise ConfigError(
            f"{split.name}: expected test nodes of classes 0 to {classes - 1}, found {int(truth.min())} to "
            f"{int(truth.max())}."
        )
    metrics = class_metrics(truth, predicted, classes)
    return {**metrics, "auc": _auc(truth, scores), "loss": float(cross_entropy(scores, truth))}


def class_metrics(truth: Tensor, predicted: Tensor, classes: int) -> dict[str, float]:
    """Accuracy, the mean of the classes' accuracies, and the mean of their F1, of predictions (T,).

    >>> class_metrics(torch.tensor([0, 0, 0, 1]), torch.tensor([0, 0, 0, 0]), 2)["balanced_accuracy"]
    0.5
    """
    pairs = torch.bincount(classes * truth + predicted, minlength=classes**2)
    confusion = pairs.reshape(classes, classes).double()  # nodes of each class (rows) with each prediction (columns)
    actual = confusion.sum(1)
    either = actual + confusion.sum(0)
    return {
        "accuracy": float(confusion.diag().sum() / confusion.sum()),
        "balanced_accuracy": float((confusion.diag() / actual)[actual > 0].mean()),
        "macro_f1": float((2 * confusion.diag() / either)[either > 0].mean()),
    }


def _auc(truth: Tensor, scores: Tensor) -> float | None:
    """Mean over classes of the AUC of one against the others."""
    probabilities, areas = scores.double().softmax(1).cpu().numpy(), []
    for label in truth.unique().tolist():
        is_label = (truth == label).cpu().numpy()
        if not is_label.all():
            areas.append(roc_auc(probabilities[is_label, label], probabilities[~is_label, label]))
    return sum(areas) / len(areas) if areas else None


def run_record(result: TrainingResult) -> Record:
    """The training of a classifier as a record: one format for cross-validation and the paper's tables."""
    best = result.best
    return {
        "stopping_accuracy": best["stopping_accuracy"],
        "stopping_loss": best["stopping_loss"],
        "validation_accuracy": best.get("validation_accuracy"),
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "stopped_by": result.stopped_by,
        "restarts": result.restarts,
        **({"round": best["round"]} if "round" in best else {}),
        "seconds": round(result.seconds, 2),
        "epoch_milliseconds": round(1000 * result.seconds / result.epochs, 2),
        "curvatures": best["curvatures"],
        "curvature_path": curvature_path(result.history),
        "capped_rows": result.capped_rows,
    }


def run_metrics(scores: Tensor, data: Data, split: Split) -> Record:
    """Metrics on the test nodes, and which of them are right, as a text of 1 and 0 in the order of the split."""
    nodes = split.final_test_nodes()
    correct = (scores[nodes].argmax(1) == data.y[nodes]).int().tolist()
    return {**evaluate_scores(scores, data, split), "correct": "".join(map(str, correct))}


def _correct(record: Record) -> NDArray[np.float64]:
    """Which test nodes are right, as 1 and 0, (T,)."""
    return np.array(list(record["correct"]), float)


def mean_accuracy(runs: Sequence[Record], tests: Sequence[set[int]]) -> Estimate:
    """Mean accuracy of runs by their `run_metrics` and their test nodes, with its interval by `over_splits`."""
    variances = [drawn_variance(_correct(run), 0, 1) for run in runs]
    return over_splits([run["accuracy"] for run in runs], tests, variances)


def paired_difference(runs: Sequence[Record], baseline: Sequence[Record], tests: Sequence[set[int]]) -> Estimate:
    """Mean accuracy of runs less that of a baseline, paired by run and test node; its interval by `over_splits`."""
    gains = [_correct(run) - _correct(other) for run, other in zip(runs, baseline, strict=True)]
    return over_splits([float(gain.mean()) for gain in gains], tests, [drawn_variance(gain, -1, 1) for gain in gains])


def covered(splits: int, runs: int) -> str:
    """What an interval covers.

    >>> covered(1, 1), covered(5, 5)
    ('the draw of the test nodes, not splits or seeds', 'splits, seeds and the draw of the test nodes')
    """
    if splits > 1:
        return "splits, seeds and the draw of the test nodes"
    return f"{'seeds and ' if runs > 1 else ''}the draw of the test nodes, not splits{'' if runs > 1 else ' or seeds'}"


@torch.no_grad()
def classifier_intervals(
    model: NodeClassifier, x: Any, adjacency: Any, y: Tensor, nodes: Tensor
) -> list[CurvatureInterval | None]:
    """The range of each curvature in which the cross-entropy on nodes is within 1 %; None where κ was not trained.

    Without nodes, (V,), there are no ranges. Features and adjacency matrix are as the network takes them.
    """
    if not len(nodes):
        return [None for _ in model.curvatures()]
    model.eval()
    rows = model.tangent(x, adjacency).double().square().sum(1)
    radius = 2 * math.sqrt(float(rows.mean())) or 1.0

    def loss() -> float:
        return float(cross_entropy(model(x, adjacency)[nodes], y[nodes]))

    least = loss()
    intervals: list[CurvatureInterval | None] = []
    for curvature in model.curvatures():
        raw, unit = curvature.raw, curvature.unit
        if not raw.requires_grad or curvature.upper < math.inf:  # HGCN's parameter is not κ itself
            intervals.append(None)
            continue
        restore = partial(raw.copy_, raw.clone())
        interval = interval_of(raw, radius * math.sqrt(unit), loss, restore, least, upper_limit(least), REFINEMENTS)
        intervals.append(interval.in_units(unit**-0.5))
    return intervals
