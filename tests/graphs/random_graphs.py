"""Random small graphs, connected or not, and a folder with the real data where there is one."""

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

from kappagcn.graphs import from_networkx

needs_data = pytest.mark.skipif(
    "KAPPAGCN_DATA" not in os.environ, reason="KAPPAGCN_DATA does not name a folder with the datasets"
)


def put(folder, name, text):
    """A file with this content."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def data_folder():
    return Path(os.environ["KAPPAGCN_DATA"])


@st.composite
def networks(draw, least=1, most=14, connected=False):
    """A NetworkX graph on 0 … n − 1."""
    n = draw(st.integers(least, most))
    pairs = [(i, j) for j in range(n) for i in range(j)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    graph = nx.empty_graph(n)
    graph.add_edges_from(chosen)
    if connected:
        graph.add_edges_from((draw(st.integers(0, j - 1)), j) for j in range(1, n))
    return graph


def lengths(graph):
    """All distances by NetworkX, −1 where there is no path."""
    result = np.full((len(graph), len(graph)), -1)
    for u, reached in nx.all_pairs_shortest_path_length(graph):
        for v, d in reached.items():
            result[u, v] = d
    return result


def as_data(graph, **more):
    return from_networkx(graph, **more)


GRAPHS = {
    "tree": lambda: nx.balanced_tree(3, 3),
    "sparse": lambda: nx.gnm_random_graph(120, 170, seed=5),  # several components, leaves
    "dense": lambda: nx.gnm_random_graph(80, 800, seed=6),
    "two": lambda: nx.disjoint_union(nx.cycle_graph(40), nx.complete_graph(15)),
}
