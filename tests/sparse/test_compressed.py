"""Orders of entries and products of compressed rows, as registered operations."""

import pytest
import torch

from graph_samples import DOUBLE
from kappagcn.errors import GraphError
from kappagcn.sparse import SparseMatrix
from kappagcn.sparse.compressed import csr_product, product, sorted_order

ROWS, COLS = torch.tensor([2, 0, 2, 1, 2]), torch.tensor([0, 3, 3, 1, 0])


def matrix(dtype=DOUBLE):
    values = torch.rand(5, generator=torch.Generator().manual_seed(0), dtype=dtype)
    return SparseMatrix(ROWS, COLS, values, (4, 4))


@pytest.mark.parametrize("kind", [torch.int64, torch.int32])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_the_order_is_that_of_a_stable_sort(count, kind):
    keys = torch.randint(7, (count,), generator=torch.Generator().manual_seed(count)).to(kind)
    starts, order = sorted_order(keys, 9)
    assert starts.dtype == order.dtype == torch.int32
    assert torch.equal(order.long(), keys.argsort(stable=True))
    assert torch.equal(starts.long(), torch.searchsorted(keys.sort().values, torch.arange(10, dtype=kind)))


def test_indices_out_of_range_are_refused():
    with pytest.raises(GraphError, match="indices from 0 to 2, found 0 to 3"):
        sorted_order(COLS, 3)


def test_operations_keep_the_rules_of_torch():
    own, x = matrix(), torch.randn(4, 2, dtype=DOUBLE, requires_grad=True)
    torch.library.opcheck(sorted_order, (ROWS, 4))
    torch.library.opcheck(csr_product, (*own.csr(), *own.csr_transpose(), x))


def test_the_operation_is_the_product_with_its_derivatives():
    own, x = matrix(), torch.randn(4, 2, dtype=DOUBLE, requires_grad=True)
    arrays = *own.csr(), *own.csr_transpose()
    assert torch.allclose(csr_product(*arrays, x), own.to_dense() @ x)
    assert torch.autograd.gradcheck(lambda x: csr_product(*arrays, x), x)
    assert torch.autograd.gradgradcheck(lambda x: csr_product(*arrays, x) ** 2, x)
    assert torch.equal(product(*own.matrices(), x), csr_product(*arrays, x))


def test_places_behind_the_entries_are_not_read():
    own, x = matrix(), torch.ones(4, 2, dtype=DOUBLE)
    padded = [torch.nn.functional.pad(part, (0, 3)) for csr in (own.csr(), own.csr_transpose()) for part in csr[1:]]
    starts, turned = own.csr().starts, own.csr_transpose().starts
    assert torch.equal(csr_product(starts, *padded[:2], turned, *padded[2:], x), own @ x)
