"""Loops in the threads of torch's team, and in a pool of threads where there is no such team."""

import threading

import numpy as np
import pytest
import torch

pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")

from kappagcn.kernels import blocks, team, threads
from kappagcn.kernels.blocks import compiled

COUNT = 1000


@compiled
def take_numbers(counter, taken, loops):
    team.next_number(loops)
    number = team.next_number(counter)
    while number < taken.shape[0]:
        taken[number] += 1
        number = team.next_number(counter)


@compiled
def take_numbers_in_team(begin, threads, arguments):
    team.call_in_threads(begin, threads, take_numbers, arguments)


@pytest.fixture
def three_threads(set_torch_threads):
    set_torch_threads(3)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize(("alone", "start", "count"), [(True, None, 1), (False, None, 3), (False, 0, 3)])
def test_each_number_is_taken_once_by_so_many_threads(alone, start, count, monkeypatch):
    if start is not None:
        monkeypatch.setattr(team, "team_start", lambda: start)
    taken, loops = np.zeros(COUNT, np.int64), np.zeros(1, np.int64)
    team.run(take_numbers_in_team, take_numbers, taken, loops, alone=alone)
    assert (taken == 1).all()
    assert loops[0] == count


def test_looking_for_torchs_library_leaves_its_threads():
    before = torch.get_num_threads()
    threads._start.cache_clear()
    threads._start()
    assert torch.get_num_threads() == before


@pytest.mark.usefixtures("three_threads")
def test_loops_of_python_run_in_torchs_threads():
    if not threads.team_start():
        pytest.skip("torch's threads are not those of an OpenMP library that is known here")
    used, all_here = [], threading.Barrier(3, timeout=60)

    def loop():
        used.append(threading.get_ident())
        all_here.wait()

    threads.in_team(loop)
    assert len(set(used)) == 3
    assert threading.get_ident() in used


@pytest.mark.usefixtures("three_threads")
def test_an_error_in_one_of_torchs_threads_is_raised_in_the_caller():
    if not threads.team_start():
        pytest.skip("torch's threads are not those of an OpenMP library that is known here")
    own = threading.get_ident()

    def loop():
        if threading.get_ident() != own:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        threads.in_team(loop)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize(("is_small", "expected"), [(False, "team"), (True, "pool")])
def test_loops_take_torchs_threads_unless_torch_has_one_alone(is_small, expected, monkeypatch):
    if not threads.team_start():
        pytest.skip("torch's threads are not those of an OpenMP library that is known here")
    used, pool_of_threads = [], blocks.pool_of_threads
    monkeypatch.setattr(blocks, "in_team", lambda loop: used.append("team") or threads.in_team(loop))
    monkeypatch.setattr(blocks, "pool_of_threads", lambda: used.append("pool") or pool_of_threads())
    monkeypatch.setattr(blocks, "_pause", 0)
    done = []
    with threads.threads_for(1 if is_small else threads.ALONE):
        blocks.parallel_for(COUNT, done.append)
    assert sorted(done) == list(range(COUNT))
    assert set(used) == {expected}
