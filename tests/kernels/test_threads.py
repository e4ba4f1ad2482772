"""One thread for small operations, and as many as before afterwards."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from kappagcn.kernels.threads import ALONE, loop_threads, threads_for


@pytest.fixture
def two_threads(set_torch_threads):
    set_torch_threads(2)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("numbers", "threads"), [(0, 1), (ALONE - 1, 1), (ALONE, 2)])
def test_only_few_numbers_take_one_thread(numbers, threads):
    with threads_for(numbers):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_an_error_leaves_the_threads_as_they_were():
    with pytest.raises(ZeroDivisionError), threads_for(1):
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_threads_of_python_inside_at_once_get_their_number_back():
    """A thread that starts inside begins with one thread of torch's."""

    def inside():
        with threads_for(1):
            assert (torch.get_num_threads(), loop_threads()) == (1, 2)
        return torch.get_num_threads()

    with ThreadPoolExecutor(1) as pool:
        with threads_for(1):
            assert pool.submit(inside).result() == 2
            assert torch.get_num_threads() == 1
        assert pool.submit(torch.get_num_threads).result() == 2
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_adams_step_has_the_same_bits():
    generator = torch.Generator().manual_seed(0)
    start, slopes = torch.randn(2, 5000, generator=generator)
    results = []
    for numbers in (ALONE, 5000):
        p = torch.nn.Parameter(start.clone())
        adam = torch.optim.Adam([p], lr=0.1, fused=True)
        for _ in range(3):
            p.grad = slopes * p.detach()
            with threads_for(numbers):
                adam.step()
        results.append(p.detach())
    assert torch.equal(*results)


@pytest.mark.usefixtures("two_threads")
def test_compiled_loops_keep_their_threads():
    assert loop_threads() == 2
    with threads_for(1):
        with threads_for(1):  # of a part of the work
            assert (torch.get_num_threads(), loop_threads()) == (1, 2)
        assert (torch.get_num_threads(), loop_threads()) == (1, 2)
    torch.set_num_threads(1)
    assert loop_threads() == 1
