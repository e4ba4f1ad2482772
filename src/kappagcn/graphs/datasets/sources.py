"""The catalogue of datasets: for each its size, and the addresses and hashes of its files."""

import difflib
import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources

from kappagcn.errors import GraphError


@dataclass(frozen=True)
class Source:
    """A file at its public source. The git blob id is SHA-1 over git's header and the content."""

    name: str
    url: str
    bytes: int | None
    sha256: str | None
    git_blob: str | None


@dataclass(frozen=True)
class Entry:
    """A dataset."""

    name: str
    title: str
    nodes: int  # number of nodes of the whole graph
    edges: int  # number of undirected edges of the whole graph, without self-loops
    features: int  # number of features, 0 for none
    classes: int  # number of classes, 0 for none
    repositories: tuple[str, ...]  # projects that publish the files
    sha256: str  # SHA-256 of the npz form, <name>.npz
    reader: str  # reader of the original files, in raw_formats
    largest: bool  # whether the literature uses the largest component only
    split: str  # name of the usual split
    sources: tuple[tuple[Source, ...], ...]  # alternatives; each is a list of files that together hold the dataset

    @property
    def pickled(self) -> bool:
        """Whether the originals are pickles, which are converted once and not read here."""
        return self.reader in ("planetoid", "airport")


@cache
def catalogue() -> dict[str, Entry]:
    """All datasets by name.

    >>> catalogue()["cora_ml"].classes
    7
    """
    text = resources.files("kappagcn.graphs.datasets").joinpath("sources.json").read_text(encoding="utf-8")
    entries = {}
    for name, fields in json.loads(text).items():
        fields["sources"] = tuple(tuple(Source(**file) for file in files) for files in fields["sources"])
        entries[name] = Entry(name=name, **fields)
    return entries


def find_entry(name: str) -> Entry:
    """The dataset with this name; the error for an unknown name suggests others."""
    if name not in catalogue():
        hint = suggestion(name, catalogue())
        raise GraphError(f"expected the name of a dataset, found {name!r}. {hint} load_graph has other graphs too.")
    return catalogue()[name]


def suggestion(name: str, names: Collection[str]) -> str:
    """A sentence with the names most similar to an unknown one, or with all names."""
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(names)}."
