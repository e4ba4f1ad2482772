"""Whether and in which unit a network uses edge weights: as asked, or as trials on stopping nodes or pairs decide.

Weights with heavy tails, such as amounts of money, can drown a graph: a node hears its heaviest neighbour alone. Others
are all that a graph says. The weights alone do not tell which, so ``"auto"`` tries both (benchmarks/weights.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from kappagcn.training.settings import ON_GRAPHS

__all__ = ["TRIAL_EPOCHS", "choose_unit", "in_units", "unit_of", "usage", "weights_of_runs"]

TRIAL_EPOCHS = 50
MANY = 100  # ratio of the largest weight to the median from which weights are called heavy-tailed


def unit_of(choice: str, weights: Tensor | None) -> float | None:
    """The number by which weights are divided; None where they are not used.

    ``"scaled"`` takes the median of the positive weights: self-loops, of weight 1, then count as a typical edge does.

    >>> import torch
    >>> unit_of("scaled", torch.tensor([100.0, 300.0, 200.0])), unit_of("raw", torch.ones(2)), unit_of("none", None)
    (200.0, 1.0, None)
    """
    if weights is None or choice == "none":
        return None
    positive = weights[weights > 0]
    return float(positive.median()) if choice != "raw" and len(positive) else 1.0


def in_units(data: Data, unit: float | None) -> Data:
    """The graph with its weights divided by a unit, or without them; `data` is not changed."""
    weights = data.get("edge_weight")
    if weights is None or unit == 1:
        return data
    scaled = copy(data)
    scaled.edge_weight = None if unit is None else weights / unit
    return scaled


def choose_unit(choice: str, data: Data, can_try: bool, trial: Callable[[Data], float]) -> float | None:
    """The unit of `unit_of`; for ``"auto"`` that of the better of two trials, with scaled weights and without.

    Args:
        choice: Setting `edge_weights`.
        data: The graph.
        can_try: Whether the network looks at weights, and there are nodes or pairs to judge it by.
        trial: Trains on a graph for a while; the loss on stopping nodes or validation pairs.
    """
    weights = data.get("edge_weight")
    unit = unit_of(choice, weights)
    alike = weights is None or not len(weights) or bool((weights == weights[0]).all())
    if choice != "auto" or alike or not can_try:
        return unit
    return unit if trial(in_units(data, unit)) <= trial(in_units(data, None)) else None


def usage(settings: Any, weights: Tensor | None, unit: float | None) -> str | None:
    """What a network does with the weights of a graph, in one line; None without weights, or if it has no use for them.

    >>> import torch
    >>> from kappagcn.classification.settings import ClassificationSettings
    >>> usage(ClassificationSettings(), torch.ones(3), None)
    'ignored: trials without them were better; --set edge-weights=scaled uses them'
    """
    if weights is None or settings.model not in ON_GRAPHS:
        return None
    choice, positive = settings.edge_weights, weights[weights > 0]
    ratio = float(positive.max() / positive.median()) if len(positive) else 1.0
    tails = f" (the largest is {ratio:,.0f} times the median)" if ratio >= MANY else ""
    if unit is None and choice == "none":
        return "ignored"
    if unit is None:
        return f"ignored: trials without them were better{tails}; --set edge-weights=scaled uses them"
    form = "used as they are" if choice == "raw" else f"used, in units of their median {unit:.3g}"
    return f"{form}{tails}" + ("; --set weights=false ignores them" if choice == "auto" else "")


def weights_of_runs(usages: Sequence[str | None]) -> str | None:
    """How several runs use edge weights, in one line.

    >>> weights_of_runs(["ignored: ...", "ignored: ...", "used"])
    'ignored: ... (in 2 of 3 runs)'
    """
    most, count = Counter(usages).most_common(1)[0]
    return most if most is None or count == len(usages) else f"{most} (in {count} of {len(usages)} runs)"
