"""Baselines of a classifier on the same splits, with the same budget, and the verdict on the paired differences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import LabelPropagation
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.evaluation import run_metrics
from kappagcn.graphs import Split
from kappagcn.run_folder import read_json, save_json
from kappagcn.training.estimate import NORMAL, Estimate
from kappagcn.training.labelled import encode_labels, read_labels

Record = dict[str, Any]
NAMES = {
    "majority": "the most common class",
    "propagation": "label propagation",
    "features": "an MLP on the features alone",
    "gcn": "a GCN",
    "unweighted": "a GCN without the edge weights",
}
ADVICE = {
    "propagation": "the labels of neighbours say more than this network; try --model appnp",
    "features": "neighbours are of little use here; try --set self-features=on or --model mlp",
    "gcn": "try --model gcn, another space, or --space E16",
    "unweighted": "the edge weights mislead; try --set weights=false",
}  # where the baseline is ahead
PROPAGATION = {"num_layers": 50, "alpha": 0.9}
NEVER = 1e-6  # score of the training nodes' shares of classes, for nodes that no label reaches


def compare(
    classifier: KappaGCNClassifier,
    data: Data,
    splits: Sequence[Split],
    folder: Path | None = None,
    report: Callable[[str], None] | None = None,
    runs: int = 1,
) -> dict[str, list[Record]]:
    """Test metrics of the baselines, one record for each run of the classifier, stored in the run folder.

    Networks are trained as the classifier is: the same settings, epochs, patience, splits and seeds. A baseline with
    the same network is left out, one on features alone where there are none, one without edge weights where there are
    none, and those that `folder` has already are not computed again. `report` is called with a line before each that is
    trained.

    >>> from kappagcn.graphs import disease, random_split
    >>> data = disease()
    >>> baselines = compare(KappaGCNClassifier("H2", epochs=5, verbose=False), data, [random_split(data.y, 0)])
    >>> list(baselines), round(baselines["majority"][0]["balanced_accuracy"], 2)
    (['majority', 'propagation', 'features', 'gcn'], 0.5)
    """
    path = None if folder is None else folder / "baselines.json"
    records: dict[str, list[Record]] = {}
    if path is not None and path.exists():
        records = read_json(path, "the records of baselines")
    labels = read_labels(data)
    known = data.clone()
    classes, known.y = encode_labels(labels, data.get("class_names"))
    rules = {"majority": _majority_scores, "propagation": _propagated_scores}
    networks = _networks(classifier, data)
    for name in (*rules, *networks):
        if name in records:
            continue
        if name in rules:
            once = [run_metrics(rules[name](classifier, known, split, len(classes)), known, split) for split in splits]
            records[name] = [record for record in once for _ in range(runs)]
        else:
            if report is not None:
                report(f"baseline: {NAMES[name]}")
            numbered = [(number, split, run) for number, split in enumerate(splits) for run in range(runs)]
            records[name] = [
                _trained_record(classifier, networks[name], data, labels, split, 1000 * number + run)
                for number, split, run in numbered
            ]
        if path is not None:
            save_json(path, records)
    return records


def _networks(classifier: KappaGCNClassifier, data: Data) -> dict[str, Record]:
    """Settings by which the trained baselines differ from the classifier."""
    candidates: dict[str, Record] = {"gcn": {"model": "gcn"}}
    if data.get("x") is not None:
        candidates = {"features": {"model": "mlp"}, **candidates}
    settings = classifier.get_params()
    if data.get("edge_weight") is not None and settings["edge_weights"] != "none":
        candidates["unweighted"] = {"model": "gcn", "edge_weights": "none"}
    return {
        name: changes
        for name, changes in candidates.items()
        if any(settings[key] != value for key, value in changes.items())
    }


def _majority_scores(classifier: KappaGCNClassifier, data: Data, split: Split, classes: int) -> Tensor:
    """Log-shares of the classes among the training nodes, the same for every node."""
    shares = torch.bincount(data.y[split.train], minlength=classes) / len(split.train)
    return shares.clamp_min(NEVER).log().expand(data.num_nodes, -1)


def _propagated_scores(classifier: KappaGCNClassifier, data: Data, split: Split, classes: int) -> Tensor:
    """Log-shares of the classes after 50 steps of PyG's label propagation from the training nodes."""
    weights = None if classifier.edge_weights == "none" else data.get("edge_weight")
    edges, weight = gcn_norm(data.edge_index, weights, data.num_nodes, add_self_loops=False)
    marks = torch.nn.functional.one_hot(data.y.clamp_min(0), classes).float()
    reached: Tensor = LabelPropagation(**PROPAGATION)(marks, edges, split.train, weight)
    scores = reached + NEVER * _majority_scores(classifier, data, split, classes).exp()
    shares: Tensor = scores / scores.sum(1, keepdim=True)
    return shares.clamp_min(NEVER).log()


def _trained_record(
    classifier: KappaGCNClassifier, changes: Record, data: Data, labels: Any, split: Split, seed: int
) -> Record:
    settings = classifier.changed(**changes, random_state=classifier.run_seed(seed), verbose=False)
    baseline = type(classifier)(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        baseline.fit_split(data, labels, split)
    assert baseline._data is not None
    return run_metrics(baseline.scores(), baseline._data, split)


def verdict(
    accuracy: float,
    baselines: Mapping[str, float],
    differences: Mapping[str, Estimate],
    auc: float | None = None,
    test_nodes: int = 0,
) -> str:
    """Compare the accuracy of a classifier with that of the baselines, in one sentence.

    Better or behind means that the 95 % interval of the paired difference is above or below 0.

    Args:
        accuracy: Mean accuracy.
        baselines: Mean accuracy of each baseline.
        differences: `paired_differences`.
        auc: Area under the ROC curve, which may be high where a class is too rare to be the most probable one.
        test_nodes: Number of test nodes of a split.

    >>> verdict(0.8, {"majority": 0.81}, {"majority": Estimate(-0.01, 0.02)})
    'FAILED: no better than the most common class (0.800 beside 0.810).'
    """

    def beside(name: str) -> str:
        return f"{NAMES[name]} ({accuracy:.3f} beside {baselines[name]:.3f})"

    low = {name: gain.mean - (gain.interval or 0.0) for name, gain in differences.items()}
    high = {name: gain.mean + (gain.interval or 0.0) for name, gain in differences.items()}
    common = differences["majority"]
    if common.mean <= (common.interval or 0.0) / NORMAL:  # within one standard error
        if auc is not None and _ranks_classes(auc, test_nodes * (1 - baselines["majority"])):
            return (
                f"Not clearly more accurate than {beside('majority')}, but probabilities tell classes apart (AUC "
                f"{auc:.3f}): use them, kappagcn predict prints them, with a threshold of your own."
            )
        return f"FAILED: no better than {beside('majority')}."
    behind = min(differences, key=lambda name: high[name])
    if high[behind] < 0:
        return f"Behind {beside(behind)}: {ADVICE[behind]}."
    if low["majority"] <= 0:
        return f"Probably better than {beside('majority')}; more splits or test nodes would tell."
    ahead = [NAMES[name] for name in differences if low[name] > 0]
    level = [NAMES[name] for name in differences if name != "majority" and low[name] <= 0]
    return f"Better than {_listed(ahead)}" + (f"; level with {_listed(level)}." if level else ".")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _ranks_classes(auc: float, rarer_nodes: float) -> bool:
    """Whether an AUC is above chance by two standard errors, given the number of test nodes of the rarer classes."""
    return auc - NORMAL * math.sqrt(auc * (1 - auc) / max(rarer_nodes, 1.0)) > 0.5
