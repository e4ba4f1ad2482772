"""Graphs by name as PyG datasets of one graph: made, or published ones from a folder, the cache, or their source."""

import dataclasses
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import torch
from torch_geometric.data import Data, InMemoryDataset

from kappagcn.errors import DownloadError, GraphError, GraphFileError, IntegrityError
from kappagcn.graphs.datasets import splits
from kappagcn.graphs.datasets.preprocess import AIRPORT_NAMES, airport_features
from kappagcn.graphs.datasets.raw_formats import READERS
from kappagcn.graphs.datasets.sources import Entry, Source, expected_hash, fetch, find_entry, verified_bytes
from kappagcn.graphs.generators import BUILT_IN
from kappagcn.graphs.io.node_data import as_features, compact_features
from kappagcn.graphs.io.npz import graph_from_arrays, read_arrays, read_csr
from kappagcn.graphs.io.undirected import Array, name_source_in_errors
from kappagcn.graphs.measures.components import components, induced_subgraph

Transform = Callable[[Data], Data]
PURPOSES = {"test": splits.TEST_SEEDS, "validation": splits.VALIDATION_SEEDS}


def cache_folder() -> Path:
    """The folder for downloaded datasets, by the convention of the operating system.

    >>> "kappagcn" in str(cache_folder())
    True
    """
    return platformdirs.user_cache_path("kappagcn")


class GraphDataset(InMemoryDataset):
    """A graph by name, with its splits: a published dataset, unweighted, or a graph of `BUILT_IN`.

    Citeseer, Cora-ML and Pubmed are in the paper's form (PPNP's preparation: the largest component, features as
    stored), Airport too (all nodes, HGCN's eleven features). Features are not normalised: `normalize_rows` does that.

    Args:
        name: One of `catalogue()` or `BUILT_IN`.
        root: Folder to search first: for ``<name>.npz`` in the form of `npz`'s table, or for the original files in
            ``<name>/``.
        cache: Folder for downloads; None for `cache_folder()`.
        download: Whether to download a dataset that is in neither folder.
        sparse: Whether to keep features as a sparse CSR tensor.
        largest: Keep only the largest component; None to do as the literature does for this dataset.
        transform: Function applied to the graph at every access.
        pre_transform: Function applied to the graph once.
        prepared: Whether features are as in the paper's tables, Airport's columns undivided, and in the layout that
            networks take fastest.
        progress: Show a bar on a terminal while downloading.

    >>> GraphDataset("cora_ml", cache="nowhere", download=False)  # download=True would fetch it
    Traceback (most recent call last):
        ...
    kappagcn.errors.DownloadError: ...
    """

    def __init__(
        self,
        name: str,
        root: str | Path | None = None,
        *,
        cache: str | Path | None = None,
        download: bool = True,
        sparse: bool = False,
        largest: bool | None = None,
        transform: Transform | None = None,
        pre_transform: Transform | None = None,
        prepared: bool = False,
        progress: bool = True,
    ) -> None:
        self.name = name
        self.entry = None if name in BUILT_IN else find_entry(name)
        super().__init__(None, transform)
        if self.entry is None:
            data, self.public_splits = BUILT_IN[name][1](), []
        else:
            arrays = dataset_arrays(self.entry, root, cache=cache, download=download, progress=progress)
            data, arrays = _graph(self.entry, arrays, sparse, self.entry.largest if largest is None else largest)
            self.public_splits = splits.public_splits(arrays, name)
        if prepared and name == "airport":  # HGCN's division by rows would mix gdp, which shows the country, with noise
            data.x = as_features(airport_features(data.feat, data.degree, scaling="none"))
        if prepared and data.get("x") is not None:
            data.x = compact_features(data.x)
        self.data, self.slices = self.collate([data if pre_transform is None else pre_transform(data)])

    def split(self, seed: int) -> splits.Split:
        """The usual split: the paper's where it defines one, otherwise a public one, or 60/10/10/20 at random.

        Args:
            seed: For the paper's datasets one of `TEST_SEEDS` or `VALIDATION_SEEDS`; for public splits their index.
        """
        y, kind = self[0].get("y"), self._protocol()
        if y is None:
            raise GraphError(f"{self.name}: expected labels to divide its nodes by, found none.")
        if kind == "ppnp":
            return splits.ppnp_split(y, seed)
        if kind == "airport":
            return splits.airport_split(len(y), seed)
        if self.public_splits:
            return self.public_splits[seed % len(self.public_splits)]
        return splits.random_split(y, seed)

    def numbered_split(self, number: int, purpose: str = "test") -> splits.Split:
        """The split of this number, for reported results ("test") or for the choice of settings ("validation").

        >>> GraphDataset("disease").numbered_split(0)
        Split(random 2144199730: 600 train, 100 stopping, 100 validation, 200 test)
        """
        public = self.public_splits if self._protocol() == "public" else []
        if purpose not in PURPOSES or (public and purpose == "validation"):
            raise GraphError(
                f"{self.name}: expected splits for test{'' if public else ' or validation'}, found {purpose!r}."
                + (" In its public splits, validation nodes of one are test nodes of another." if public else "")
            )
        count = len(public) or len(PURPOSES[purpose])
        if not 0 <= number < count:
            raise GraphError(f"{self.name}: expected a split from 0 to {count - 1}, found {number}.")
        return self.split(number if public else PURPOSES[purpose][number])

    def _protocol(self) -> str:
        return "random" if self.entry is None else self.entry.split

    def __repr__(self) -> str:
        return f"GraphDataset({self.name})"


@lru_cache(maxsize=2)
def load_benchmark(name: str, root: str | Path | None = None) -> GraphDataset:
    """A labelled graph with its features prepared as for the paper's tables, read once."""
    dataset = GraphDataset(name, root, sparse=True, prepared=True)
    if dataset[0].get("y") is None:
        raise GraphError(f"{name}: expected a graph with labels, found none.")
    return dataset


def dataset_arrays(
    entry: Entry,
    root: str | Path | None = None,
    *,
    cache: str | Path | None = None,
    download: bool = True,
    progress: bool = True,
) -> dict[str, Array]:
    """The arrays of a dataset, in the form of `npz`'s table: from `root`, the cache, or its source, in this order."""
    if root is not None and not Path(root).is_dir():
        raise DownloadError(f"expected a folder with datasets, found nothing at {str(root)!r}.")
    *roots, store = _folders(root, cache)
    for folder in (*roots, store):
        try:
            if files := _stored_files(entry, folder):
                return _read(entry, files)
        except IntegrityError:
            if folder != store or not download:
                raise  # otherwise a damaged file in our own cache is downloaded again
    return _from_source(entry, root, store, download, progress)


def locate(entry: Entry, root: str | Path | None = None, *, cache: str | Path | None = None) -> Path | None:
    """The file or folder of a dataset on this machine, or None. Nothing is read or checked."""
    for folder in _folders(root, cache):
        if files := _stored_files(entry, folder):
            first = next(iter(files))
            return first if first.parent == folder else first.parent
    return None


def _folders(root: str | Path | None, cache: str | Path | None) -> list[Path]:
    """The folders to search, the cache last."""
    store = Path(cache) if cache is not None else cache_folder() / "datasets"
    return [store] if root is None else [Path(root), store]


def _stored_files(entry: Entry, folder: Path) -> dict[Path, Source] | None:
    """The files in a folder that hold a dataset: its npz form, which has no address, or its originals.

    Where the originals are pickles, their place has what ``tools/convert_pickles.py`` made of them.
    """
    npz = Source(f"{entry.name}.npz", "", None, entry.sha256, None)
    originals = [{folder / entry.name / file.name: file for file in files} for files in entry.sources]
    if entry.pickled:
        originals = [{folder / entry.name / npz.name: dataclasses.replace(npz, sha256=None)}]
    return next((files for files in ({folder / npz.name: npz}, *originals) if all(map(Path.is_file, files))), None)


def _from_source(entry: Entry, root: Any, store: Path, download: bool, progress: bool) -> dict[str, Array]:
    reasons, mismatched = [], None
    if entry.pickled:
        raise DownloadError(
            f"{entry.name}: expected {entry.name}.npz (SHA-256 {entry.sha256}) in {root or store}, found none. Its "
            f"originals are pickles, which are not read: python tools/convert_pickles.py {entry.name}, in the source "
            "of kappagcn, downloads, checks and converts them once."
        )
    for files in entry.sources if download else ():
        try:
            paths = {fetch(file, store / entry.name, progress=progress): file for file in files}
        except (DownloadError, IntegrityError) as error:
            reasons.append(str(error))
            mismatched = error if isinstance(error, IntegrityError) else mismatched
            continue
        return _read(entry, paths)
    if mismatched:
        raise mismatched
    originals = "; ".join(f"{file.name} ({expected_hash(file)})" for file in entry.sources[0])
    raise DownloadError(
        f"{entry.name}: expected {entry.name}.npz (SHA-256 {entry.sha256}) in {root or store}, found none, and "
        + (" ".join(reasons) if download else "downloading was not allowed.")
        + " Put that file there (or into a folder that is passed as root), "
        f"or its originals into {store / entry.name}: {originals}."
    )


def _read(entry: Entry, files: dict[Path, Source]) -> dict[str, Array]:
    """The arrays in files that have the hashes of the catalogue."""
    path, first = next(iter(files.items()))
    if not first.url:
        if first.sha256:
            verified_bytes(path, first)
        return read_arrays(path)
    contents = {file.name: verified_bytes(path, file) for path, file in files.items()}
    with name_source_in_errors(entry.name, "the original files of the dataset"):
        return READERS[entry.reader](contents)


def _graph(entry: Entry, arrays: dict[str, Array], sparse: bool, largest: bool) -> tuple[Data, dict[str, Array]]:
    """The graph of a dataset, and the arrays with its public splits."""
    arrays = {key: value for key, value in arrays.items() if key != "edge_weight"}
    if "adj_data" in arrays:
        arrays["adj_data"] = np.ones(len(arrays["adj_data"]), np.float32)  # a weight of 2 is an edge too
    data = graph_from_arrays(arrays, entry.name, sparse=sparse, name=entry.name)
    if entry.reader == "airport":
        degree = np.asarray(read_csr(arrays, "adj_", entry.name).sum(axis=0))
        data.x = as_features(airport_features(arrays["feat"], degree), sparse=sparse)
        data.attr_names = list(AIRPORT_NAMES)
        data.feat = torch.from_numpy(arrays["feat"][:, :4].copy())
        data.degree = torch.from_numpy(degree.astype(np.int64))
    if (data.num_nodes, data.num_edges // 2) != (entry.nodes, entry.edges):
        raise GraphFileError(
            f"{entry.name}: expected {entry.nodes} nodes and {entry.edges} edges, "
            f"found {data.num_nodes} and {data.num_edges // 2}."
        )
    inside = components(data) == 0
    if not largest or inside.all():
        return data, arrays
    kept = np.flatnonzero(inside)
    position = np.cumsum(inside) - 1
    for part in ("train", "val", "test"):
        if f"idx_{part}" in arrays:
            nodes = arrays[f"idx_{part}"]
            arrays[f"idx_{part}"] = position[nodes[inside[nodes]]]
        if f"{part}_masks" in arrays:
            arrays[f"{part}_masks"] = arrays[f"{part}_masks"][:, kept]
    return induced_subgraph(data, kept), arrays
