"""NetworkX graphs, and the file formats that NetworkX reads: GraphML and GML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from torch_geometric.data import Data

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.io.node_data import as_features, as_labels
from kappagcn.graphs.io.node_table import number_classes
from kappagcn.graphs.io.undirected import assemble, name_source_in_errors

__all__ = ["from_networkx", "read_graphml"]

# What NetworkX raises on a damaged or foreign file.
DAMAGE = (
    nx.NetworkXError, ElementTree.ParseError, ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError,
    RuntimeError, RecursionError, OverflowError, UnicodeDecodeError, SyntaxError, AssertionError,
)  # fmt: skip


def read_graphml(path: Path, features: Any = None, labels: Any = None) -> Data:
    """Read a graph from a GraphML or GML file.

    Args:
        path: Path of the file; its ending says which of the two it is.
        features: Names of numeric node attributes: a list, or text with commas.
        labels: Name of a node attribute.
    """
    kind = path.suffix.lower()
    try:
        if kind == ".graphml":
            text = path.read_bytes()
            if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
                raise GraphFileError(f"{path}: expected GraphML without document types or entities. Remove them.")
            graph = nx.parse_graphml(text.decode("utf-8-sig"))
        else:
            graph = _parse_gml(path.read_text(encoding="utf-8"))
    except GraphFileError:
        raise
    except OSError as error:
        raise GraphFileError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except DAMAGE as error:
        raise GraphFileError(f"{path}: expected {kind[1:].upper()}, found something else ({error}).") from None
    with name_source_in_errors(str(path)):
        columns = str(features).split(",") if isinstance(features, str | Path) else list(features or ())
        return from_networkx(graph, features=columns, label=None if labels is None else str(labels), name=path.stem)


def _parse_gml(text: str) -> Any:
    """Parse GML with repeated edges allowed, by node labels where they are distinct and by ids otherwise."""
    text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", re.sub(r"\bmultigraph\s+[01]\b", "", text), count=1)
    try:
        return nx.parse_gml(text, label="label")
    except nx.NetworkXError:
        return nx.parse_gml(text, label="id")


def from_networkx(
    graph: Any, *, features: Iterable[str] = (), label: str | None = None, weight: str = "weight", name: str = "graph"
) -> Data:
    """A graph from a NetworkX object, nodes in its order.

    Args:
        graph: Any NetworkX graph, directed or with multiple edges too.
        features: Node attributes to use as features, numbers or lists of numbers.
        label: Node attribute to use as label, of any type.
        weight: Edge attribute to use as weight; edges without it have weight 1.
        name: Name of the graph.

    >>> import networkx as nx
    >>> from_networkx(nx.karate_club_graph(), label="club").class_names
    ['Mr. Hi', 'Officer']
    """
    index = {node: i for i, node in enumerate(graph)}
    rows = np.array([index[u] for u, _ in graph.edges()], np.int64)
    cols = np.array([index[v] for _, v in graph.edges()], np.int64)
    attributes: dict[str, Any] = {}
    if columns := list(features):
        attributes["x"] = as_features(_numeric_attributes(graph, columns))
        attributes["attr_names"] = columns if attributes["x"].shape[1] == len(columns) else None
    if label is not None:
        values = [graph.nodes[node].get(label) for node in graph]
        if all(value is None for value in values):
            raise GraphError(f"expected nodes with an attribute {label!r}, found {_attribute_names(graph)}.")
        texts = np.array(["" if value is None else str(value) for value in values], dtype=np.str_)
        numbers, attributes["class_names"] = number_classes(texts)
        attributes["y"] = as_labels(numbers)
    return assemble(
        rows,
        cols,
        len(index),
        weights=_edge_weights(graph, weight),
        directed=graph.is_directed(),
        node_names=None if list(index) == list(range(len(index))) else [str(node) for node in index],
        name=name,
        **attributes,
    )


def _edge_weights(graph: Any, attribute: str) -> Any:
    weights = [weight for *_, weight in graph.edges(data=attribute)]
    if all(weight is None for weight in weights):
        return None
    try:
        return np.array([1.0 if weight is None else float(weight) for weight in weights])
    except (TypeError, ValueError):
        raise GraphError(f"expected numbers as {attribute}, found something else.") from None


def _numeric_attributes(graph: Any, columns: list[str]) -> Any:
    try:
        return np.array([np.hstack([graph.nodes[node][key] for key in columns]) for node in graph], np.float64)
    except KeyError as error:
        raise GraphError(f"expected every node with {error}, found nodes with {_attribute_names(graph)}.") from None
    except (TypeError, ValueError):
        raise GraphError(f"expected numbers, as many for every node, as {columns}, found something else.") from None


def _attribute_names(graph: Any) -> str:
    names = {str(key) for _, attributes in graph.nodes(data=True) for key in attributes}
    return ", ".join(sorted(names)) or "none"
