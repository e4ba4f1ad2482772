"""NetworkX graphs, and the file formats that NetworkX reads: GraphML and GML."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.node_data import as_features, as_labels
from kappagcn.graphs.io.node_table import number_classes
from kappagcn.graphs.io.text import ending_of, read_content, stem_of
from kappagcn.graphs.io.undirected import assemble, name_source_in_errors


def read_graphml(path: Path, features: Any = None, labels: Any = None, weight: str | bool = "weight") -> Data:
    """Read a graph from a GraphML or GML file; features and label are node attributes, by name or in a list."""
    weight = str(weight)
    kind = ending_of(path)[1:].upper()
    content = read_content(path)
    with name_source_in_errors(path, f"a {kind} file"):
        text = content.decode("utf-8-sig")
        if kind == "GRAPHML" and ("<!DOCTYPE" in text or "<!ENTITY" in text):
            raise GraphError("expected GraphML without document types or entities. Remove them.")
        graph = nx.parse_graphml(text) if kind == "GRAPHML" else _parse_gml(text)
    with name_source_in_errors(path):
        columns = str(features).split(",") if isinstance(features, str | Path) else list(features or ())
        label = None if labels is None else str(labels)
        data = from_networkx(graph, features=columns, label=label, weight=weight, name=stem_of(path))
        if weight != "weight" and not any(weight in more for *_, more in graph.edges(data=True)):
            raise GraphError(f"expected edges with an attribute {weight!r}, found none.")
    data.report += _unused_attributes(graph, {*columns, label, weight})
    return data


def _unused_attributes(graph: Any, used: set[str | None]) -> str:
    """Report of attributes that are in the file but not in the graph."""
    nodes = {str(key) for _, attributes in graph.nodes(data=True) for key in attributes} - used
    edges = {str(key) for *_, attributes in graph.edges(data=True) for key in attributes} - {"weight", "id", *used}
    notes = [f"node attributes not used: {', '.join(sorted(nodes))} (see --labels and --features)"] if nodes else []
    notes += [f"edge attributes not used: {', '.join(sorted(edges))}"] if edges else []
    return "".join(f"; {note}" for note in notes)


def _parse_gml(text: str) -> Any:
    """Parse GML, by node labels where they are distinct and by ids otherwise."""
    for label in ("label", "id"):
        try:
            return nx.parse_gml(text, label=label)
        except nx.NetworkXError as error:
            problem = error
    if "is duplicated" in str(problem):
        raise GraphError("expected every edge once, found one twice. Write multigraph 1 below graph [.")
    raise problem


def from_networkx(
    graph: Any, *, features: Iterable[str] = (), label: str | None = None, weight: str = "weight", name: str = "graph"
) -> Data:
    """A graph from a NetworkX object, nodes in its order.

    Args:
        graph: Any NetworkX graph, which may be directed or have multiple edges.
        features: Node attributes to use as features, numbers or lists of numbers.
        label: Node attribute to use as label, of any type.
        weight: Edge attribute to use as weight; edges without it have weight 1.
        name: Name of the graph.

    >>> import networkx as nx
    >>> from_networkx(nx.karate_club_graph(), label="club").class_names
    ['Mr. Hi', 'Officer']
    """
    index = {node: i for i, node in enumerate(graph)}
    rows, cols = np.array([(index[u], index[v]) for u, v in graph.edges()], np.int64).reshape(-1, 2).T
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
