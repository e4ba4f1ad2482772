"""Graphs that are made, not read: the generated ones by name, and NetworkX's small classics."""

from collections.abc import Callable

import networkx as nx
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.generators import balanced_tree, cycle, disease, path, sphere, star, torus
from kappagcn.graphs.io.graphml import from_networkx

__all__ = ["BUILT_IN", "CLASSICS", "classic"]

CLASSICS = {
    "karate": "karate_club_graph",
    "les_miserables": "les_miserables_graph",
    "florentine": "florentine_families_graph",
    "southern_women": "davis_southern_women_graph",
    "petersen": "petersen_graph",
    "dodecahedron": "dodecahedral_graph",
    "icosahedron": "icosahedral_graph",
    "tutte": "tutte_graph",
    "desargues": "desargues_graph",
    "frucht": "frucht_graph",
}
"""NetworkX's small classics by name, and its functions that make them."""

CLASSIC_LABELS = {"karate": "club", "southern_women": "bipartite"}  # node attributes that are labels


def classic(name: str) -> Data:
    """One of NetworkX's small classics, `CLASSICS`.

    >>> classic("karate").num_nodes
    34
    """
    if name not in CLASSICS:
        raise GraphError(f"expected one of {', '.join(CLASSICS)}, found {name!r}.")
    return from_networkx(getattr(nx, CLASSICS[name])(), label=CLASSIC_LABELS.get(name), name=name)


BUILT_IN: dict[str, tuple[str, Callable[[], Data]]] = {
    "tree": ("balanced tree, depth 5, branching 4: the paper's", balanced_tree),
    "small_tree": ("balanced tree, depth 3, branching 4", lambda: balanced_tree(3, 4).update({"name": "small_tree"})),
    "torus": ("1000 points on a flat torus: the paper's", torus),
    "sphere": ("1000 points on a sphere: the paper's", sphere),
    "disease": ("epidemic on a tree, features and 2 classes", disease),
    "cycle": ("the cycle C4", cycle),
    "star": ("the star K1,3", star),
    "path": ("five nodes in a line", path),
    **{name: ("a classic from NetworkX", lambda name=name: classic(name)) for name in CLASSICS},  # type: ignore[misc]
}
"""Generated graphs by name: a description, and the function that makes the graph."""
