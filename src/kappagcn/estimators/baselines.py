"""Baselines of a classifier on the same splits: the most common class, features alone, and a GCN."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from kappagcn.estimators.classifier import KappaGCNClassifier
from kappagcn.estimators.estimate import Estimate, bootstrapped
from kappagcn.estimators.labelled import encode_labels, read_labels
from kappagcn.graphs import Split
from kappagcn.run_folder import read_json, save_json
from kappagcn.training import final_evaluation
from kappagcn.training.evaluation import class_metrics

__all__ = ["NAMES", "compare", "verdict"]

Record = dict[str, Any]
NAMES = {"majority": "the most common class", "features": "an MLP on the features alone", "gcn": "a GCN"}
SHORT = {"epochs": 300, "patience": 50}  # training of a baseline


def compare(
    classifier: KappaGCNClassifier,
    data: Data,
    splits: Sequence[Split],
    folder: Path | None = None,
    report: Callable[[str], None] | None = None,
) -> dict[str, list[Record]]:
    """Test metrics of the baselines, one record for each split, stored in the run folder.

    Args:
        classifier: Classifier whose settings the baselines share; a baseline with the same network is left out.
        data: The graph with its labels; without features the baseline on features alone is left out.
        splits: Splits with test nodes.
        folder: Run folder; records in it are not computed again.
        report: Called with a line before each baseline.

    >>> from kappagcn.graphs import disease, random_split
    >>> data = disease()
    >>> baselines = compare(KappaGCNClassifier("H2", epochs=5, verbose=False), data, [random_split(data.y, 0)])
    >>> list(baselines), round(baselines["majority"][0]["balanced_accuracy"], 2)
    (['majority', 'features', 'gcn'], 0.5)
    """
    path = None if folder is None else folder / "baselines.json"
    if path is not None and path.exists():
        kept: dict[str, list[Record]] = read_json(path, "the records of baselines")
        return kept
    labels = read_labels(data)
    classes, y = encode_labels(labels, data.get("class_names"))
    records = {"majority": [_majority(y, split, len(classes)) for split in splits]}
    networks = {"gcn": "gcn"} if data.get("x") is None else {"features": "mlp", "gcn": "gcn"}
    for name, model in networks.items():
        if model == classifier.model:
            continue
        if report is not None:
            report(f"baseline: {NAMES[name]}")
        records[name] = [_run(classifier, model, data, labels, split, number) for number, split in enumerate(splits)]
    if path is not None:
        save_json(path, records)
    return records


def _majority(y: torch.Tensor, split: Split, classes: int) -> Record:
    """The most common class of the training nodes, for every test node."""
    common, truth = int(y[split.train].mode().values), y[split.final_test_nodes()]
    return class_metrics(truth, torch.full_like(truth, common), classes)


def _run(classifier: KappaGCNClassifier, model: str, data: Data, labels: Any, split: Split, number: int) -> Record:
    own = classifier.get_params()
    short = {name: min(limit, own[name]) for name, limit in SHORT.items()}
    seed = classifier.random_state + 1000 * number
    baseline = type(classifier)(**{**own, **short, "model": model, "random_state": seed, "verbose": False})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        baseline.fit_split(data, labels, split)
    assert baseline._data is not None
    return dict(final_evaluation(baseline.model_, baseline._data, split, scores=baseline.scores()))


def verdict(
    accuracies: Sequence[float],
    baselines: dict[str, list[Record]],
    test_nodes: int,
    model: str,
    overlap: float = 0.0,
    auc: float | None = None,
) -> str:
    """Compare the accuracy of a classifier with that of the baselines, in one sentence.

    Args:
        accuracies: Accuracy on each split.
        baselines: Records of `compare`, on the same splits.
        test_nodes: Number of test nodes.
        model: Name of the classifier's network.
        overlap: Share of test nodes that two splits have in common.
        auc: Area under the ROC curve, which may be high where a class is too rare to be the most probable one.

    >>> verdict([0.8], {"majority": [{"accuracy": 0.81}]}, 500, "kappa-gcn")
    'FAILED: no better than the most common class (0.800 beside 0.810).'
    """
    theirs = {name: [record["accuracy"] for record in each] for name, each in baselines.items()}
    compared = {name: _difference(accuracies, each, test_nodes, overlap) for name, each in theirs.items()}

    def beside(name: str) -> str:
        return f"{NAMES[name]} ({np.mean(accuracies):.3f} beside {np.mean(theirs[name]):.3f})"

    common = compared["majority"]
    if common.mean <= (common.interval or 0.0) / 1.96:  # within one standard error
        if auc is not None and _ranks_classes(auc, test_nodes * (1 - float(np.mean(theirs["majority"])))):
            return (
                f"Not clearly more accurate than {beside('majority')}, but probabilities tell classes apart (AUC "
                f"{auc:.3f}): use them, kappagcn predict prints them, with a threshold of your own."
            )
        return f"FAILED: no better than {beside('majority')}."
    behind = [name for name, each in compared.items() if each.mean + (each.interval or 0.0) < 0]
    if "features" in behind:
        tip = "--model mlp" if model == "mlp" else "--self-features on or --model mlp"
        return f"Behind {beside('features')}: neighbours are of little use here; try {tip}."
    if "gcn" in behind:
        return f"Behind {beside('gcn')}: try --model gcn, another space, or --space E16."
    if _low(common) <= 0:
        return f"Probably better than {beside('majority')}; more splits or test nodes would tell."
    ahead = [NAMES[name] for name, each in compared.items() if _low(each) > 0]
    level = [NAMES[name] for name, each in compared.items() if name != "majority" and _low(each) <= 0]
    return f"Better than {' and '.join(ahead)}" + (f"; level with {' and '.join(level)}." if level else ".")


def _ranks_classes(auc: float, rarer_nodes: float) -> bool:
    """Whether an AUC is above chance by two standard errors, given the number of test nodes of the rarer classes."""
    return auc - 1.96 * math.sqrt(auc * (1 - auc) / max(rarer_nodes, 1.0)) > 0.5


def _low(difference: Estimate) -> float:
    return difference.mean - (difference.interval or 0.0)


def _difference(ours: Sequence[float], theirs: Sequence[float], test_nodes: int, overlap: float) -> Estimate:
    """Mean difference with its interval: over splits, or for a single one from the number of its test nodes."""
    if len(ours) > 1:
        return bootstrapped([one - other for one, other in zip(ours, theirs, strict=True)], overlap)
    smoothed = [
        (p * test_nodes + 1) / (test_nodes + 2) for p in (ours[0], theirs[0])
    ]  # so that 4 correct of 4 have an interval too
    variance = sum(p * (1 - p) for p in smoothed) / max(test_nodes, 1)
    return Estimate(ours[0] - theirs[0], 1.96 * math.sqrt(variance))
