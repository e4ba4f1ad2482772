"""Labelled graphs with their splits: the paper's four datasets, and others as in the literature."""

from functools import lru_cache
from pathlib import Path

import torch
from torch_geometric.data import Data

from kappagcn.errors import GraphError, SplitError
from kappagcn.graphs.datasets.graph_dataset import GraphDataset
from kappagcn.graphs.datasets.names import BUILT_IN, load_graph
from kappagcn.graphs.datasets.preprocess import airport_features
from kappagcn.graphs.datasets.splits import TEST_SEEDS, VALIDATION_SEEDS, Split, random_split
from kappagcn.graphs.io.node_data import compact_features, one_hot

PURPOSES = {"test": TEST_SEEDS, "validation": VALIDATION_SEEDS}


class Benchmark:
    """A labelled graph with its splits.

    Args:
        name: A built-in name or a dataset.
        root: Folder in which datasets are looked for first.

    >>> Benchmark("disease").split(0)
    Split(random 2144199730: 600 train, 100 stopping, 100 validation, 200 test)
    """

    def __init__(self, name: str, root: str | Path | None = None) -> None:
        self.name = name
        self.dataset = None if name in BUILT_IN else GraphDataset(name, root, sparse=True)
        self.data: Data = load_graph(name) if self.dataset is None else self.dataset[0]
        if self.data.get("x") is not None:
            self.data.x = compact_features(self.data.x)
        if self.data.get("y") is None:
            raise GraphError(f"{name}: expected a graph with labels, found none.")
        if name == "airport":
            # HGCN's division by the row's sum would mix gdp, which identifies the country, with noise.
            features = airport_features(self.data.feat, self.data.degree, scaling="none")
            self.data.x = torch.from_numpy(features).float()
        self.has_features = self.data.get("x") is not None
        if not self.has_features:
            self.data.x = one_hot(self.data.num_nodes)

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return int(self.data.y.max()) + 1

    def split(self, number: int, purpose: str = "test") -> Split:
        """The split of this number, for reported results ("test") or for the choice of settings ("validation")."""
        public = self.dataset.public_splits if self.dataset is not None and self.dataset.entry.split == "public" else []
        if purpose not in PURPOSES or (public and purpose == "validation"):
            raise SplitError(
                f"{self.name}: expected splits for test{'' if public else ' or validation'}, found {purpose!r}."
                + (" In its public splits, validation nodes of one are test nodes of another." if public else "")
            )
        count = len(public) or len(PURPOSES[purpose])
        if not 0 <= number < count:
            raise SplitError(f"{self.name}: expected a split from 0 to {count - 1}, found {number}.")
        seed = PURPOSES[purpose][number]
        if self.dataset is None:
            return random_split(self.data.y, seed)
        return self.dataset.split(number if public else seed)


load_benchmark = lru_cache(maxsize=2)(Benchmark)
"""A benchmark, read once."""
