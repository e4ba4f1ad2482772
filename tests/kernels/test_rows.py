"""The compiled midpoints are those of torch, values and gradients."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graph_samples import DOUBLE, random_graph
from kappagcn.kernels.dispatch import runs_loops, torch_only
from kappagcn.nn.aggregation import midpoints
from kappagcn.sparse import normalized_adjacency
from workers import Worker

KAPPAS = [-4.0, -1.0, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 1.0, 4.0]


def both(v, adjacency, kappas, dims, double=False):
    """Results and gradients by v and κ, compiled and by torch."""
    results = []
    for plain in (False, True):
        x = v.clone().requires_grad_()
        k = torch.tensor(kappas, dtype=v.dtype, requires_grad=True)
        if plain:
            with torch_only():
                assert not runs_loops(x)
                out = midpoints(x, adjacency, k, dims, double=double)
                grads = torch.autograd.grad((out * torch.linspace(-1, 2, out.shape[1], dtype=v.dtype)).sum(), (x, k))
        else:
            assert runs_loops(x)
            out = midpoints(x, adjacency, k, dims, double=double)
            grads = torch.autograd.grad((out * torch.linspace(-1, 2, out.shape[1], dtype=v.dtype)).sum(), (x, k))
        results.append((out.detach(), *grads))
    return zip(*results, strict=True)


@given(
    st.lists(st.tuples(st.sampled_from(KAPPAS), st.integers(1, 5)), min_size=1, max_size=3),
    st.integers(0, 12),
    st.sampled_from([0.0, 1e-4, 0.1, 1.0]),
    st.integers(0, 99),
)
def test_compiled_is_torch_in_double(factors, n, size, seed):
    """Rounding errors grow as exp(4√−κ|v|), so that vectors of equal size times √|κ| are compared."""
    kappas, dims = [k for k, _ in factors], [d for _, d in factors]
    edge_index, weight, generator = random_graph(max(n, 1), 3 * n, seed)
    adjacency = normalized_adjacency(edge_index, weight, n, dtype=DOUBLE)
    scale = torch.cat([torch.full((d,), size / max(1, abs(k)) ** 0.5, dtype=DOUBLE) for k, d in factors])
    v = torch.randn(n, sum(dims), generator=generator, dtype=DOUBLE).clamp(-1.5, 1.5) * scale
    for ours, theirs in both(v, adjacency, kappas, dims):
        assert torch.allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("kappa", KAPPAS)
def test_compiled_is_torch_in_single(kappa, double):
    edge_index, weight, generator = random_graph(300, 900, 0)
    adjacency = normalized_adjacency(edge_index, weight, 300)
    v = 0.3 * torch.randn(300, 6, generator=generator) / max(1, abs(kappa)) ** 0.5
    for ours, theirs in both(v, adjacency, [kappa], [6], double):
        assert torch.allclose(ours, theirs, rtol=2e-4, atol=2e-5)


def test_results_do_not_depend_on_the_number_of_threads():
    n = 70_000
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.randint(n, (2, 2 * n), generator=generator)
    adjacency = normalized_adjacency(edge_index, num_nodes=n)
    v = 0.5 * torch.randn(n, 5, generator=generator)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            x, k = v.clone().requires_grad_(), torch.tensor([-1.0, 1.0], requires_grad=True)
            out = midpoints(x, adjacency, k, [3, 2])
            results.append((out.detach(), *torch.autograd.grad(out.square().sum(), (x, k))))
    finally:
        torch.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_a_forked_process_computes_too():
    import forking_worker  # which numba is needed for

    _, complaints, code = Worker(forking_worker.main).ended()
    assert code == 0, complaints
