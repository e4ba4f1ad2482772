"""Splits of the nodes for training, early stopping, validation and test; test nodes have one explicit accessor.

`ppnp_split` is the protocol of the paper's citation graphs, identical to that of PPNP (`gasteigerjo/ppnp`); all its
random draws use NumPy's legacy generator, as PPNP does, so that the nodes are the same.
"""

from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import Array, checked_nodes

KNOWN_SEED = 4143496719  # seed of PPNP: all splits of a dataset have the same test nodes
TEST_SEEDS = (
    2144199730, 794209841, 2985733717, 2282690970, 1901557222, 2009332812, 2266730407,
    635625077, 3538425002, 960893189, 497096336, 3940842554, 3594628340, 948012117,
    3305901371, 3644534211, 2297033685, 4092258879, 2590091101, 1694925034,
)  # fmt: skip
"""PPNP's seeds for reported results."""
VALIDATION_SEEDS = (
    2413340114, 3258769933, 1789234713, 2222151463, 2813247115, 1920426428, 4272044734,
    2092442742, 841404887, 2188879532, 646784207, 1633698412, 2256863076, 374355442,
    289680769, 4281139389, 4263036964, 900418539, 119332950, 1628837138,
)  # fmt: skip
"""PPNP's seeds for choosing hyperparameters."""
VISIBLE = (
    "edge_index", "edge_weight", "edge_attr", "x", "pos", "num_nodes", "name", "report",
    "node_names", "attr_names", "class_names",
)  # fmt: skip


class Split:
    """A split of a graph's nodes.

    `train`, `stopping` and `validation` are for training and model selection. The test nodes come only from
    `final_test_nodes`, for the one evaluation that is reported; `training_view` hides their labels.

    Args:
        train: Nodes whose labels the loss uses.
        stopping: Nodes for early stopping.
        validation: Nodes for the choice of hyperparameters.
        test: Nodes for the final evaluation.
        name: Name of the split, for records.

    >>> split = Split([0, 1], [2], [3], [4, 5], name="toy")
    >>> split
    Split(toy: 2 train, 1 stopping, 1 validation, 2 test)
    >>> split.test
    Traceback (most recent call last):
        ...
    kappagcn.errors.GraphError: test nodes are for the final evaluation alone; ask for final_test_nodes() there.
    """

    def __init__(self, train: Any, stopping: Any, validation: Any, test: Any, *, name: str = "split") -> None:
        self.name = name
        self.train, self.stopping, self.validation = (_nodes(part) for part in (train, stopping, validation))
        self._test = _nodes(test)
        if not len(self.train):
            raise GraphError(f"{name}: expected nodes to train on, found none.")
        for part, nodes in self._parts().items():
            if len(nodes.unique()) != len(nodes):
                raise GraphError(f"{name}: expected every node once in {part}, found some twice.")
        for (one, nodes), (other, others) in combinations(self._parts().items(), 2):
            shared = int(torch.isin(nodes, others).sum())
            if shared and (one, other) != ("stopping", "validation"):
                raise GraphError(f"{name}: expected {one} and {other} nodes to differ, found {shared} in both.")

    @classmethod
    def from_masks(cls, data: Data, number: int = 0) -> "Split":
        """The split of PyG's ``train_mask``, ``val_mask`` and ``test_mask``.

        Stopping nodes are those of ``stopping_mask`` if there is one, and otherwise the validation nodes.

        Args:
            data: The graph.
            number: Number of the split, for masks with one split in each column.
        """
        masks = {key: data.get(f"{key}_mask") for key in ("train", "stopping", "val", "test")}
        several = {key: mask for key, mask in masks.items() if mask is not None and mask.dim() == 2}
        masks |= {key: mask[:, number] for key, mask in several.items() if number < mask.shape[1]}
        if masks["train"] is None:
            raise GraphError(
                "expected a split, such as random_split(data.y, seed=0), or data.train_mask, found neither."
            )
        for key, mask in masks.items():
            if mask is not None and (mask.dtype != torch.bool or mask.shape != (data.num_nodes,)):
                raise GraphError(
                    f"{key}_mask: expected booleans ({data.num_nodes},), found {mask.dtype} {tuple(mask.shape)}."
                )
        nodes = {key: [] if mask is None else mask.nonzero().flatten().numpy() for key, mask in masks.items()}
        stopping = nodes["val"] if masks["stopping"] is None else nodes["stopping"]
        return cls(nodes["train"], stopping, nodes["val"], nodes["test"], name="masks")

    def _parts(self) -> dict[str, Tensor]:
        return {"train": self.train, "stopping": self.stopping, "validation": self.validation, "test": self._test}

    @property
    def test(self) -> Tensor:
        """Raises an error: test nodes come from `final_test_nodes` only."""
        raise GraphError("test nodes are for the final evaluation alone; ask for final_test_nodes() there.")

    def final_test_nodes(self) -> Tensor:
        """The test nodes, for the one evaluation that is reported. Do not choose settings by its results."""
        return self._test

    def training_view(self, data: Data) -> Data:
        """The graph for training code: labels of nodes outside train, stopping and validation are −1.

        Only attributes that reveal neither test nodes nor their labels are kept: edges, features, names.
        """
        self.check(data.num_nodes)
        if data.get("y") is None:
            raise GraphError(f"{self.name}: expected labels to hide, found none.")
        view = Data(**{key: data[key] for key in VISIBLE if key in data})
        known = torch.cat([self.train, self.stopping, self.validation]).unique()
        view.y = torch.full_like(data.y, -1)
        view.y[known] = data.y[known]
        return view

    def masks(self, num_nodes: int) -> dict[str, Tensor]:
        """PyG's ``train_mask`` and ``val_mask`` (validation), and ``stopping_mask``; no test mask."""
        self.check(num_nodes)
        parts = {"train_mask": self.train, "stopping_mask": self.stopping, "val_mask": self.validation}
        empty = torch.zeros(num_nodes, dtype=torch.bool)
        return {key: empty.index_fill(0, nodes, True) for key, nodes in parts.items()}

    def check(self, num_nodes: int) -> None:
        """Refuse a graph with fewer nodes than the split uses."""
        last = max(int(part.max()) for part in self._parts().values() if len(part))
        if last >= num_nodes:
            raise GraphError(
                f"{self.name}: expected nodes below {num_nodes}, found {last}. The split is of another graph."
            )

    def __repr__(self) -> str:
        return f"Split({self.name}: {', '.join(f'{len(nodes)} {part}' for part, nodes in self._parts().items())})"


def _nodes(part: Any) -> Tensor:
    return torch.from_numpy(checked_nodes(part, None).astype(np.int64))


def _labels(y: Any) -> Array:
    if not isinstance(y, Tensor | np.ndarray) or y.ndim != 1:
        raise GraphError(f"expected labels as a tensor (N,), data.y, found {type(y).__name__}.")
    return np.asarray(y)


def _legacy_generator(seed: int) -> np.random.RandomState:
    if not 0 <= seed < 2**32:
        raise GraphError(f"expected a seed from 0 to 2³² − 1, found {seed}.")
    return np.random.RandomState(seed)


def _draw_known(num_nodes: int, known: int) -> tuple[Array, Array]:
    """Nodes whose labels may be used, drawn with PPNP's seed, and the others, which are test nodes."""
    drawn = _legacy_generator(KNOWN_SEED).choice(np.arange(num_nodes), known, replace=False)
    return drawn, np.setdiff1d(np.arange(num_nodes), drawn)


def ppnp_split(y: Tensor, seed: int, *, known: int = 1500, per_class: int = 20, stopping: int = 500) -> Split:
    """PPNP's protocol, which the paper's citation graphs follow.

    1. `known` nodes are drawn with a fixed seed; all others are test nodes.
    2. `per_class` of the known nodes of each class, drawn with `seed`, are training nodes.
    3. `stopping` of the remaining known nodes are for early stopping; the rest are validation nodes.

    Args:
        y: Classes, (N,); nodes without a class (−1) are left out.
        seed: One of `TEST_SEEDS` for reported results, of `VALIDATION_SEEDS` for hyperparameters.
        known: Number of nodes whose labels may be used before the final evaluation.
        per_class: Number of training nodes per class.
        stopping: Number of early-stopping nodes.

    >>> split = ppnp_split(torch.arange(60) % 3, seed=0, known=30, per_class=4, stopping=10)
    >>> len(split.train), len(split.stopping), len(split.validation), len(split.final_test_nodes())
    (12, 10, 8, 30)
    """
    labels = _labels(y)
    n = len(labels)
    if not (labels >= 0).any() or per_class < 1 or stopping < 0:
        raise GraphError(
            f"expected labelled nodes, per_class from 1 and stopping from 0, found {int((labels >= 0).sum())} labelled "
            f"nodes, per_class {per_class} and stopping {stopping}."
        )
    if not 0 < known <= n:
        raise GraphError(f"expected between 1 and {n} known nodes, found {known}. Use random_split for small graphs.")
    drawn, test = (nodes[labels[nodes] >= 0] for nodes in _draw_known(n, known))
    rng = _legacy_generator(seed)
    train = []
    for label in range(int(labels.max()) + 1):
        members = drawn[labels[drawn] == label]
        if len(members) < per_class:
            raise GraphError(
                f"expected {per_class} known nodes of class {label}, found {len(members)}. Lower per_class."
            )
        train.append(rng.choice(members, per_class, replace=False))
    chosen = np.concatenate(train)
    rest = drawn[~np.isin(drawn, chosen)]
    if len(rest) < stopping:
        raise GraphError(f"expected {stopping} nodes for stopping, found {len(rest)} left. Lower stopping.")
    stop = rng.choice(rest, stopping, replace=False)
    return Split(chosen, stop, rest[~np.isin(rest, stop)], test, name=f"ppnp {seed}")


def airport_split(num_nodes: int, seed: int, *, train: int = 2100, stopping: int = 300, validation: int = 300) -> Split:
    """The paper's Airport protocol: 2700 known nodes, split 2100/300/300 by the seed; the others are test nodes.

    As in `ppnp_split` the known nodes are drawn with a fixed seed, so all splits have the same test nodes. Classes are
    not used.

    Args:
        num_nodes: Number of nodes.
        seed: Seed of the split of the known nodes.
        train: Number of training nodes.
        stopping: Number of early-stopping nodes.
        validation: Number of validation nodes.

    >>> split = airport_split(3188, seed=0)
    >>> len(split.train), len(split.final_test_nodes())
    (2100, 488)
    """
    known = train + stopping + validation
    if known > num_nodes:
        raise GraphError(f"expected at least {known} nodes, found {num_nodes}.")
    drawn, test = _draw_known(num_nodes, known)
    first, second, third = np.split(_legacy_generator(seed).permutation(drawn), [train, train + stopping])
    return Split(first, second, third, test, name=f"airport {seed}")


def random_split(
    y: Tensor, seed: int, *, train: float = 0.6, stopping: float = 0.1, validation: float = 0.1, test_seed: int = 0
) -> Split:
    """A random split of the labelled nodes, stratified by class; the remaining nodes are test nodes.

    Args:
        y: Classes, (N,), −1 for unknown.
        seed: Seed of the split of the nodes that are not test nodes.
        train: Fraction of training nodes.
        stopping: Fraction of early-stopping nodes.
        validation: Fraction of validation nodes.
        test_seed: Seed of the test nodes, which by default are the same for every `seed`.

    >>> split = random_split(torch.arange(100) % 2, seed=0)
    >>> len(split.train), len(split.stopping), len(split.validation), len(split.final_test_nodes())
    (60, 10, 10, 20)
    """
    shares = np.array([train, stopping, validation])
    if (shares < 0).any() or not 0 < shares.sum() <= 1:
        raise GraphError(f"expected shares that sum to at most 1, found {train}, {stopping}, {validation}.")
    labels = _labels(y)
    if min(seed, test_seed) < 0:
        raise GraphError(f"expected seeds from 0, found {min(seed, test_seed)}.")
    fixed, rng = np.random.default_rng(test_seed), np.random.default_rng(seed)
    parts: list[list[Array]] = [[], [], [], []]
    for label in np.unique(labels[labels >= 0]):
        members = fixed.permutation(np.flatnonzero(labels == label))
        ends = np.round(np.cumsum(shares) * len(members)).astype(int)
        known = rng.permutation(members[: ends[-1]])
        for part, nodes in zip(parts, [*np.split(known, ends[:2]), members[ends[-1] :]], strict=True):
            part.append(nodes)
    if not parts[0]:
        raise GraphError("expected labelled nodes, found none.")
    return Split(*(np.sort(np.concatenate(part)) for part in parts), name=f"random {seed}")


def public_splits(arrays: dict[str, Array], name: str) -> list[Split]:
    """The splits that a dataset is published with; their validation nodes are the stopping nodes too.

    >>> masks = {f"{part}_masks": np.eye(3, dtype=bool)[[i]] for i, part in enumerate(("train", "val", "test"))}
    >>> public_splits(masks, "tiny")[0].train
    tensor([0])
    """
    if "train_masks" in arrays:
        masks = zip(arrays["train_masks"], arrays["val_masks"], arrays["test_masks"], strict=True)
        splits = [tuple(np.flatnonzero(mask) for mask in three) for three in masks]
    elif "idx_train" in arrays:
        splits = [(arrays["idx_train"], arrays["idx_val"], arrays["idx_test"])]
    else:
        return []
    return [Split(train, val, val, test, name=f"{name} public {i}") for i, (train, val, test) in enumerate(splits)]
