"""The origin, and what is said about points and vectors that do not belong to a space."""

import pytest
import torch
from hypothesis import given

import kappagcn.geometry as G
from kappagcn.errors import GeometryError
from spaces import NEGATIVE, spaces


@given(spaces())
def test_points_of_the_space_pass(space):
    x = space.points(5)
    check = G.check_point(x, k=space.k)
    assert check
    assert check == (True, None)
    assert G.check_vector(x, space.vectors(5, size=1e3), k=space.k)
    assert G.check_point(G.project(1e3 * x, k=space.k), k=space.k)


@given(spaces(kappas=NEGATIVE))
def test_points_outside_are_counted(space):
    x = torch.zeros(3, space.dim, dtype=space.dtype)
    x[1, 0] = 1.1 / space.s
    ok, reason = G.check_point(x, k=space.k)
    assert ok is False
    assert "found 1 of 3 that are NaN or outside the ball" in reason
    assert G.check_point(G.project(x, k=space.k), k=space.k)
    assert not G.check_vector(x, torch.zeros_like(x), k=space.k)


def test_what_passes_is_what_every_function_takes():
    """On the boundary, to rounding, points are taken; beyond it they are not."""
    for dtype in (torch.float32, torch.float64):
        for size in (1 - 1e-3, 1.0, 1 + torch.finfo(dtype).eps, 1 + 1e-3):
            x = torch.tensor([size, 0.0], dtype=dtype)
            if G.check_point(x, k=-1.0):
                G.dist0(x, k=-1.0)
            else:
                with pytest.raises(GeometryError):
                    G.dist0(x, k=-1.0)


def test_reasons():
    assert (
        "found 1 of 2 that are NaN or outside"
        in G.check_point(torch.tensor([[0.0, torch.nan], [0.0, 0.0]]), k=1.0).reason
    )
    assert "found 1 of 1 that are infinite or too long" in G.check_point(torch.tensor([1e20, 0.0]), k=0.0).reason
    assert "found torch.int64" in G.check_point(torch.zeros(2, dtype=torch.int64), k=1.0).reason
    assert "found list" in G.check_point([0.0, 0.0], k=1.0).reason
    assert "k: expected dtype torch.float32" in G.check_point(torch.zeros(2), k=torch.tensor(1.0).double()).reason
    assert "same last axis" in G.check_vector(torch.zeros(2), torch.zeros(3), k=1.0).reason
    endless = torch.tensor([0.0, torch.inf])
    assert "v: expected finite vectors, found 1 of 1 rows" in G.check_vector(torch.zeros(2), endless, k=1.0).reason


def test_curvatures_may_differ_by_point():
    x = torch.tensor([[0.9, 0.0], [0.9, 0.0]])
    assert G.check_point(x, k=torch.tensor([-1.0, 1.0]))
    assert "1 of 2" in G.check_point(x, k=torch.tensor([-2.0, 1.0])).reason


def test_origin():
    zero = G.origin(4, 3, dtype=torch.float64)
    assert zero.shape == (4, 3)
    assert zero.dtype == torch.float64
    assert (G.dist0(zero, k=-1.0) == 0).all()
    with pytest.raises(GeometryError, match=r"the last of them the dimension D ≥ 1, found \(\)"):
        G.origin()
    with pytest.raises(GeometryError, match="expected float32 or float64"):
        G.origin(3, dtype=torch.int32)
