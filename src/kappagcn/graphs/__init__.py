"""Graphs as PyG ``Data``: generated graphs, published datasets, users' own files; their distances and curvature.

Every graph here is undirected, without self-loops, with ``edge_index`` in both directions; ``data.report`` says in one
line what it is and what was changed. Nothing in this package knows of manifolds.

>>> from kappagcn import graphs
>>> print(graphs.describe(graphs.cycle(8)).advice)
try S16 first: a cycle: it closes on itself
"""

from kappagcn.graphs.datasets.edge_splits import EdgeSplit, LabelledPairs, edge_split, time_split
from kappagcn.graphs.datasets.graph_dataset import GraphDataset, cache_folder
from kappagcn.graphs.datasets.names import as_graph, load_graph
from kappagcn.graphs.datasets.preprocess import airport_features, airport_labels, normalize_rows, standardize_columns
from kappagcn.graphs.datasets.sources import catalogue
from kappagcn.graphs.datasets.split_files import read_edge_split, read_split, save_edge_split, save_split
from kappagcn.graphs.datasets.splits import (
    TEST_SEEDS,
    VALIDATION_SEEDS,
    Split,
    airport_split,
    ppnp_split,
    public_splits,
    random_split,
)
from kappagcn.graphs.generators import (
    BUILT_IN,
    CLASSICS,
    balanced_tree,
    classic,
    cycle,
    disease,
    path,
    sphere,
    star,
    torus,
)
from kappagcn.graphs.io.edges import from_edges
from kappagcn.graphs.io.graphml import from_networkx
from kappagcn.graphs.io.npz import read_npz, save_npz
from kappagcn.graphs.io.pyg import from_pyg, save_data
from kappagcn.graphs.io.reading import from_scipy, read_graph
from kappagcn.graphs.io.undirected import adjacency, assemble
from kappagcn.graphs.io.writing import save_graph
from kappagcn.graphs.mapped import MappedGraph, MappedRows
from kappagcn.graphs.measures.advice import Advice, advise
from kappagcn.graphs.measures.components import components, induced_subgraph, largest_component
from kappagcn.graphs.measures.curvature import GraphCurvature, clustering, parallelogram_curvature
from kappagcn.graphs.measures.hyperbolicity import Hyperbolicity, hyperbolicity
from kappagcn.graphs.measures.paths import path_blocks, shortest_paths
from kappagcn.graphs.measures.statistics import GraphStatistics, describe
from kappagcn.graphs.negatives import NegativeSampler

__all__ = [
    "BUILT_IN",
    "CLASSICS",
    "TEST_SEEDS",
    "VALIDATION_SEEDS",
    "Advice",
    "EdgeSplit",
    "GraphCurvature",
    "GraphDataset",
    "GraphStatistics",
    "Hyperbolicity",
    "LabelledPairs",
    "MappedGraph",
    "MappedRows",
    "NegativeSampler",
    "Split",
    "adjacency",
    "advise",
    "airport_features",
    "airport_labels",
    "airport_split",
    "as_graph",
    "assemble",
    "balanced_tree",
    "cache_folder",
    "catalogue",
    "classic",
    "clustering",
    "components",
    "cycle",
    "describe",
    "disease",
    "edge_split",
    "from_edges",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "hyperbolicity",
    "induced_subgraph",
    "largest_component",
    "load_graph",
    "normalize_rows",
    "parallelogram_curvature",
    "path",
    "path_blocks",
    "ppnp_split",
    "public_splits",
    "random_split",
    "read_edge_split",
    "read_graph",
    "read_npz",
    "read_split",
    "save_data",
    "save_edge_split",
    "save_graph",
    "save_npz",
    "save_split",
    "shortest_paths",
    "sphere",
    "standardize_columns",
    "star",
    "time_split",
    "torus",
]
