"""The compiled midpoints are those of torch, values and gradients."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graph_samples import DOUBLE, random_graph
from kappagcn.kernels.dispatch import compiled, torch_only
from kappagcn.nn.midpoints import midpoints
from kappagcn.sparse import normalized_adjacency
from workers import Worker

pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")

from kappagcn.kernels import blocks

KAPPAS = [-4.0, -1.0, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 1.0, 4.0]


def both(v, adjacency, kappas, dims, double=False):
    """Results and gradients by v and κ, compiled and by torch."""
    results = []
    for plain in (False, True):
        x = v.clone().requires_grad_()
        k = torch.tensor(kappas, dtype=v.dtype, requires_grad=True)
        if plain:
            with torch_only():
                assert not compiled("rows")
                out = midpoints(x, adjacency, k, dims, double=double)
                grads = torch.autograd.grad((out * torch.linspace(-1, 2, out.shape[1], dtype=v.dtype)).sum(), (x, k))
        else:
            assert compiled("rows")
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


@pytest.mark.parametrize("in_team", [False, True])
def test_after_long_waits_for_another_thread_ever_more_loops_do_without(monkeypatch, set_torch_threads, in_team):
    """By a clock that shows 1 second of work, and then the wait."""
    set_torch_threads(2)
    used, pool = [], ThreadPoolExecutor(1)
    monkeypatch.setattr(blocks, "team_start", lambda: int(in_team))
    monkeypatch.setattr(blocks, "in_team", lambda loop: used.append(1) or loop())
    monkeypatch.setattr(blocks, "pool_of_threads", lambda: used.append(1) or pool)
    monkeypatch.setattr(blocks, "_pause", 0)
    monkeypatch.setattr(blocks, "_next_pause", blocks.PAUSES[0])

    def pause_before_waiting(waited):
        """Loops without another thread until one with it, which waits so long."""
        before, count = len(used), -1
        while len(used) == before:
            clock, done = iter([0.0, 1.0, 1.0 + waited]), []
            monkeypatch.setattr(blocks, "perf_counter", lambda clock=clock: next(clock))
            blocks.parallel_for(5, done.append)
            assert sorted(done) == list(range(5))
            count += 1
        return count

    waits = [0.5, 0.5, 1.5, 1.5, 1.5, 0.5, 1.5, *[1.5] * 3, *[0.5] * 70, 1.5, 0.5]
    pauses = [0, 0, 0, 4, 8, 16, 0, 31, 62, 64, 64, *[0] * 69, 0, 4]
    assert [pause_before_waiting(waited) for waited in waits] == pauses
