"""What is known of each dataset before it is fetched: its size, where its files come from, and what they hash to."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from kappagcn.errors import GraphError

__all__ = ["Entry", "Source", "catalogue", "find_entry"]


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
    """A dataset.

    Attributes:
        name: What users call it.
        title: What it is, in a few words.
        nodes: Nodes of the whole graph.
        edges: Edges of the whole graph, each counted once, without self-loops.
        features: Columns of the features, 0 for none.
        classes: Number of classes, 0 for none.
        repositories: Where the sources are.
        sha256: Of the npz form, ``<name>.npz``.
        reader: How the original files are read.
        largest: Whether only the largest component is used, as in the literature.
        split: The customary division of its nodes.
        sources: Alternatives; each is a list of files that together hold the dataset.
    """

    name: str
    title: str
    nodes: int
    edges: int
    features: int
    classes: int
    repositories: tuple[str, ...]
    sha256: str
    reader: str
    largest: bool
    split: str
    sources: tuple[tuple[Source, ...], ...]


@cache
def catalogue() -> dict[str, Entry]:
    """All datasets by name.

    >>> catalogue()["cora_ml"].classes
    7
    """
    text = resources.files("kappagcn.graphs.datasets").joinpath("sources.json").read_text(encoding="utf-8")
    return {name: _entry(name, found) for name, found in json.loads(text).items()}


def _entry(name: str, found: dict[str, Any]) -> Entry:
    sources = tuple(tuple(Source(**file) for file in files) for files in found.pop("sources"))
    return Entry(name=name, sources=sources, repositories=tuple(found.pop("repositories")), **found)


def find_entry(name: str) -> Entry:
    """The entry of a name, or an error that lists the names."""
    try:
        return catalogue()[name]
    except KeyError:
        close = difflib.get_close_matches(name, catalogue(), n=3, cutoff=0.5)
        help = f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(catalogue())}."
        raise GraphError(f"expected the name of a dataset, found {name!r}. {help} load_graph makes others.") from None
