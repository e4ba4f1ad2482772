"""Accuracy of a classifier's runs on their test nodes, and paired differences of two, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.classification.evaluation import evaluate_scores
from kappagcn.graphs import Split
from kappagcn.training.estimate import Estimate, drawn_variance, over_splits

__all__ = ["covered", "mean_accuracy", "paired_difference", "run_metrics"]

Record = dict[str, Any]


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


def paired_difference(runs: Sequence[Record], others: Sequence[Record], tests: Sequence[set[int]]) -> Estimate:
    """Mean accuracy of runs less that of others, paired by run and test node, with its interval by `over_splits`."""
    gains = [_correct(run) - _correct(other) for run, other in zip(runs, others, strict=True)]
    return over_splits([float(gain.mean()) for gain in gains], tests, [drawn_variance(gain, -1, 1) for gain in gains])


def covered(splits: int, runs: int) -> str:
    """What an interval covers.

    >>> covered(1, 1), covered(5, 5)
    ('the draw of the test nodes, not splits or seeds', 'splits, seeds and the draw of the test nodes')
    """
    if splits > 1:
        return "splits, seeds and the draw of the test nodes"
    return f"{'seeds and ' if runs > 1 else ''}the draw of the test nodes, not splits{'' if runs > 1 else ' or seeds'}"
