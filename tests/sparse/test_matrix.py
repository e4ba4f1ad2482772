"""Products, gradients and conversions of sparse matrices against dense ones in float64."""

import copy
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from graph_samples import DOUBLE, random_graph
from kappagcn.errors import GraphError
from kappagcn.sparse import SparseMatrix, multiply, normalized_adjacency
from kappagcn.sparse.matrix import drop_values

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(3))
EDGES = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


def random_matrix(rows, cols, entries, seed, dtype=DOUBLE):
    """A matrix with repeated entries, and the same as a dense tensor."""
    generator = torch.Generator().manual_seed(seed)
    i, j = (torch.randint(size, (entries,), generator=generator) for size in (rows, cols))
    values = torch.randn(entries, generator=generator, dtype=dtype)
    dense = torch.zeros(rows, cols, dtype=dtype).index_put((i, j), values, accumulate=True)
    return SparseMatrix(i, j, values, (rows, cols)), dense


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 30), st.integers(0, 99))
def test_products_and_gradients_are_those_of_the_dense_matrix(rows, cols, entries, seed):
    matrix, dense = random_matrix(rows, cols, entries, seed)
    x = torch.randn(cols, 3, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE).requires_grad_()
    assert torch.allclose(matrix @ x, dense @ x, atol=1e-12)
    grad = torch.randn(rows, 3, generator=torch.Generator().manual_seed(seed + 1), dtype=DOUBLE)
    (matrix @ x).backward(grad)
    assert torch.allclose(x.grad, dense.T @ grad, atol=1e-12)
    assert torch.allclose(matrix.row_sums(), dense.sum(1), atol=1e-12)
    assert torch.equal(matrix.to_dense(), dense)
    assert torch.allclose(matrix.to_coo().to_dense(), dense, atol=1e-12)
    assert torch.allclose(SparseMatrix.from_tensor(dense) @ x, dense @ x, atol=1e-12)


def test_gradients_of_the_values_are_those_of_the_dense_matrix():
    matrix, dense = random_matrix(5, 6, 12, seed=0)
    values, dense = matrix.values.requires_grad_(), dense.requires_grad_()
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(1), dtype=DOUBLE)
    ((matrix @ x) ** 2).sum().backward()
    ((dense @ x) ** 2).sum().backward()
    assert torch.allclose(values.grad, dense.grad[matrix.rows, matrix.cols], atol=1e-12)


def test_the_product_has_second_derivatives():
    matrix = SparseMatrix.from_tensor(torch.rand(4, 4, generator=torch.Generator().manual_seed(0), dtype=DOUBLE))
    x = X.double().requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: (matrix @ x) ** 2, (x,))


@pytest.mark.parametrize(("dtype", "unit"), [(torch.float32, 2**-23), (torch.bfloat16, 2**-7), (torch.float16, 2**-10)])
def test_rows_of_any_precision_are_multiplied_in_single_or_their_own(dtype, unit):
    matrix, dense = random_matrix(6, 4, 20, seed=5)
    product = matrix @ X.to(dtype)
    assert product.dtype == dtype
    error = (product.double() - dense @ X.to(dtype).double()).abs()
    assert (error <= 8 * unit * (dense.abs() @ X.to(dtype).double().abs())).all()


def test_autocast_does_not_lower_the_precision_of_a_product():
    matrix = normalized_adjacency(EDGES)
    with torch.autocast("cpu", torch.bfloat16):
        product = multiply(matrix.to_csr(), X)
    assert product.dtype == torch.float32
    assert torch.equal(product, matrix @ X)


@pytest.mark.parametrize("p", [1e-7, 0.1, 0.5, 0.9, 0.3])
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_values_are_dropped_independently_with_their_probability(p, dtype):
    torch.manual_seed(0)
    count = 40_003  # no multiple of the values that share a random number
    result = drop_values(torch.full((count,), 3.0, dtype=dtype), p)
    dropped = result == 0
    assert result.dtype == dtype
    assert torch.allclose(result[~dropped], torch.tensor(3.0 / (1 - p), dtype=dtype), rtol=2**-12)
    for own in (dropped, *(dropped[i::4] for i in range(4))):
        assert abs(float(own.double().mean()) - p) <= 5 * (p / len(own)) ** 0.5
    for shift in (1, 2, 3, 4):
        both = (dropped[shift:] & dropped[:-shift]).double().mean()
        assert abs(float(both) - p**2) <= 5 * p / count**0.5 + 1e-4
    torch.manual_seed(0)
    assert torch.equal(drop_values(torch.full((count,), 3.0, dtype=dtype), p), result)


def test_dropout_keeps_the_mean_and_gradients():
    edge_index, _, generator = random_graph(20, 80, 9)
    adjacency = normalized_adjacency(edge_index, num_nodes=20, dtype=DOUBLE)
    dense = adjacency.to_dense()
    torch.manual_seed(0)
    draws = torch.stack([adjacency.dropout(0.5).to_dense() for _ in range(2000)])
    kept = draws != 0
    assert torch.allclose(draws[kept], (2 * dense).expand_as(draws)[kept])
    # A standard error is value/√2000; five of them.
    assert ((draws.mean(0) - dense).abs() <= 5 * dense / 2000**0.5).all()
    thinned = adjacency.dropout(0.5)
    x = torch.randn(20, 3, generator=generator, dtype=DOUBLE).requires_grad_()
    (thinned @ x).square().sum().backward()
    want = 2 * thinned.to_dense().T @ thinned.to_dense() @ x.detach()
    assert torch.allclose(x.grad, want, atol=1e-12)
    assert torch.allclose(thinned.row_sums(), thinned.to_dense().sum(1), atol=1e-12)
    assert adjacency.dropout(0.0) is adjacency


def test_entries_are_sorted_once_for_all_matrices_that_share_their_positions():
    matrix = normalized_adjacency(EDGES)
    assert matrix.csr() is matrix.csr()
    doubled = matrix.with_values(2 * matrix.values)
    assert doubled.csr().indices is matrix.csr().indices
    assert torch.allclose(doubled @ X, 2 * (matrix @ X))
    assert matrix.dropout(0.5).csr().indices is matrix.dropout(0.5).csr().indices


@pytest.mark.parametrize("name", ["rows", "cols", "values", "shape"])
def test_a_matrix_is_read_only(name):
    matrix = normalized_adjacency(EDGES)
    with pytest.raises(AttributeError):
        setattr(matrix, name, getattr(matrix, name))


def test_other_values_make_another_matrix():
    matrix = SparseMatrix.from_tensor(torch.eye(3))
    _ = matrix @ torch.ones(3, 1)
    changed = matrix.with_values(torch.tensor([1.0, 2.0, 3.0]))
    assert torch.equal(changed.to_dense(), torch.diag(torch.tensor([1.0, 2.0, 3.0])))
    assert torch.equal((changed @ torch.ones(3, 1)).flatten(), torch.tensor([1.0, 2.0, 3.0]))
    assert torch.equal(matrix.to_dense(), torch.eye(3))
    with pytest.raises(GraphError, match=r"values: expected \(3,\), found \(2,\)"):
        matrix.with_values(torch.ones(2))


@pytest.mark.parametrize("used", [False, True])
def test_all_parts_of_a_matrix_move_together_also_within_data(used):
    matrix = normalized_adjacency(EDGES)
    if used:
        _ = matrix @ X
    data = Data(x=X, edge_index=EDGES, adjacency=matrix).to("meta")
    for moved in (matrix.to("meta"), matrix.to(device="meta", dtype=DOUBLE), data.adjacency):
        assert all(part.is_meta for part in (moved.rows, moved.cols, moved.values))
        assert (moved @ torch.empty(4, 2, device="meta", dtype=moved.dtype)).is_meta
    assert matrix.to("cpu") is matrix
    assert matrix.to(DOUBLE) is matrix.to(DOUBLE)
    assert not matrix.values.is_meta


def test_the_transpose_and_heads_are_those_of_the_dense_matrix():
    matrix, dense = random_matrix(3, 5, 8, seed=2)
    for _ in range(2):  # before its entries are sorted, and after
        turned = matrix.transpose()
        assert torch.equal(turned.to_dense(), dense.T)
        assert torch.allclose(turned @ dense, dense.T @ dense)
        _ = matrix @ dense.T
    values = torch.randn(8, 2, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    heads, x = matrix.with_heads(values), torch.randn(5, 2, 4, dtype=DOUBLE)
    expected = torch.stack([matrix.with_values(values[:, h]) @ x[:, h] for h in range(2)], 1)
    assert torch.allclose((heads @ x.flatten(0, 1)).view(3, 2, 4), expected)


def test_used_matrices_copy_and_pickle():
    matrix = normalized_adjacency(EDGES)
    want = matrix @ X
    for twin in (copy.deepcopy(matrix), copy.copy(matrix), pickle.loads(pickle.dumps(matrix))):
        assert torch.equal(twin @ X, want)


def test_inference_mode_leaves_the_matrix_usable():
    matrix, x = normalized_adjacency(EDGES), X.clone().requires_grad_()
    with torch.inference_mode():
        _ = matrix @ X, matrix.row_sums(), matrix.to(DOUBLE)
    (matrix @ x).sum().backward()
    assert torch.allclose(x.grad, matrix.to_dense().sum(0).unsqueeze(1).expand(4, 3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SparseMatrix.from_tensor(torch.eye(3)) @ torch.ones(4, 1), r"expected \(3, D\).*found .*\(4, 1\)"),
        (lambda: SparseMatrix.from_tensor(torch.eye(3)) @ torch.ones(3), r"expected \(3, D\)"),
        (lambda: SparseMatrix.from_tensor(torch.eye(3)) @ torch.ones(3, 1).long(), "floating-point"),
        (lambda: SparseMatrix.from_tensor(torch.eye(3)).product([[1.0]]), "found list"),
        (lambda: SparseMatrix.from_tensor(torch.eye(3).requires_grad_()), "without gradient"),
        (lambda: SparseMatrix(torch.tensor([3]), torch.tensor([0]), torch.ones(1), (3, 3)), "rows: expected entries"),
        (lambda: SparseMatrix(torch.tensor([0]), torch.tensor([-1]), torch.ones(1), (3, 3)), "cols: expected entries"),
    ],
)
def test_what_cannot_be_multiplied_is_named(call, words):
    with pytest.raises(GraphError, match=words):
        call()
