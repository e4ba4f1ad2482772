"""Random graphs and spaces for the tests of layers, models and training."""

import torch

from kappagcn.geometry import Curvature, ProductManifold, Stereographic

DOUBLE = torch.float64


def random_graph(n, edges, seed):
    """Edges that may repeat and loop, positive weights, and the generator they came from."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(n, (2, edges), generator=generator)
    weight = torch.rand(edges, generator=generator, dtype=DOUBLE) + 0.1
    return edge_index, weight, generator


def space(signature, dtype=DOUBLE):
    """A product with trained curvatures, or one space for a number."""
    if isinstance(signature, str):
        return ProductManifold.from_signature(signature, trainable=True).to(dtype)
    return Stereographic(Curvature(float(signature), trainable=True)).to(dtype)
