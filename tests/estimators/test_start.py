"""Curvatures and scale to start from."""

import math

import pytest
import torch

from kappagcn import ProductManifold
from kappagcn.estimators import fitting_space
from kappagcn.estimators.start import starting_point
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import balanced_tree, cycle, hyperbolicity
from kappagcn.training import distances_from

TREE = balanced_tree(3, 3)


def test_spheres_start_as_wide_as_the_graph():
    for space, m in (("S3", 1), ("S2^2", 2), ("S2xS1xE2", 2)):
        started = parse_signature(fitting_space(space, delta=3.0, diameter=9.0))
        kappas = [f.kappa for f in started if f.letter == "S"]
        widest = math.sqrt(sum((math.pi / math.sqrt(kappa)) ** 2 for kappa in kappas))
        assert len(kappas) == m
        assert widest == pytest.approx(9.0, rel=1e-4)


def test_hyperbolic_factors_start_as_much_of_a_tree_as_the_graph():
    """The plane's δ is log 2/√−κ: quadruples of far points in four directions attain it."""
    (factor,) = parse_signature(fitting_space("H2", delta=2.0, diameter=12.0))
    manifold = ProductManifold.from_signature(f"H2({factor.kappa})")
    far = 8 / math.sqrt(-factor.kappa)
    v = far * torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]], dtype=torch.float64)
    d = distances_from(v, manifold.double(), range(4))
    sums = sorted([float(d[0, 1] + d[2, 3]), float(d[0, 2] + d[1, 3]), float(d[0, 3] + d[1, 2])])
    assert (sums[2] - sums[1]) / 2 == pytest.approx(2.0, rel=1e-2)


def test_what_the_signature_says_stays():
    assert fitting_space("H2(-1)xS3(1)xU2", delta=0, diameter=5) == "H2xS3xU2"
    assert starting_point("H2xS2", TREE, "paper", 6.0) == ("H2xS2", 6.0)
    assert starting_point("H2", TREE, "graph", 6.0) == ("H2(-2)", 6.0)


def test_longer_edges_start_flatter():
    ring = cycle(12)
    wide = ring.clone()
    wide.edge_weight = torch.full((ring.num_edges,), 3.0)
    (near, diameter), (far, longest) = (starting_point("S2", g, "graph", w) for g, w in ((ring, 6.0), (wide, 18.0)))
    assert (diameter, longest) == (hyperbolicity(ring).diameter, 18.0)
    kappas = [parse_signature(each)[0].kappa for each in (near, far)]
    assert kappas[0] == pytest.approx(9 * kappas[1], rel=1e-4)
