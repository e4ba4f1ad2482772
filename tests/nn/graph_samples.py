"""Random graphs and spaces for the tests of layers, models and training."""

from contextlib import nullcontext

import pytest
import torch

from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.kernels.dispatch import torch_only

DOUBLE = torch.float64
BOTH = pytest.mark.parametrize("path", [nullcontext, torch_only], ids=["compiled", "torch"])
EDGES = torch.tensor([[0, 1, 1, 2, 3, 2], [1, 0, 2, 1, 2, 3]])
X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))


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


def draw(generator, *shape, size=0.4):
    """Normal numbers of that size in float64."""
    return size * torch.randn(*shape, generator=generator, dtype=DOUBLE)


def tangents(generator, *shape, reach):
    """Tangent vectors in float64, of length up to reach: where points lose digits, or have antipodes, none lies."""
    direction = draw(generator, *shape, size=1.0)
    length = reach * torch.rand(*shape[:-1], 1, generator=generator, dtype=DOUBLE)
    return length * direction / direction.norm(dim=-1, keepdim=True)
