"""The assertions fail when they should."""

import pytest
import torch

from kappagcn.testing import assert_isometry, assert_on_manifold, assert_same_points, random_isometry

X, Y = torch.tensor([[0.1, 0.2], [0.3, 0.0]]), torch.tensor([[0.0, 0.5], [0.2, 0.2]])


def test_on_manifold():
    assert_on_manifold(X, k=-1.0)
    with pytest.raises(AssertionError, match="1 rows outside the ball"):
        assert_on_manifold(torch.tensor([[1.0, 0.2], [0.3, 0.0]]), k=-1.0)
    with pytest.raises(AssertionError, match="finite"):
        assert_on_manifold(X * float("nan"), k=1.0)


def test_same_points():
    assert_same_points(X, X, k=-1.0, atol=0)
    with pytest.raises(AssertionError, match=r"expected distances up to 0\.01"):
        assert_same_points(X, Y, k=-1.0, atol=0.01)


def test_isometry():
    f = random_isometry(2, k=-1.0, dtype=torch.float32, generator=torch.Generator().manual_seed(0))
    assert_isometry(f, X, Y, k=-1.0, atol=1e-5)
    with pytest.raises(AssertionError, match="found a change of"):
        assert_isometry(lambda x: 0.5 * x, X, Y, k=-1.0, atol=1e-5)
    with pytest.raises(AssertionError):
        assert_isometry(f, X, Y, k=-0.5, atol=1e-5)  # an isometry of another space
