"""Loops in the threads of torch's team, and in a pool of threads where there is no such team."""

import numpy as np
import pytest
import torch

pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")

from kappagcn.kernels import team
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
@pytest.mark.parametrize(("alone", "start", "threads"), [(True, None, 1), (False, None, 3), (False, 0, 3)])
def test_each_number_is_taken_once_by_so_many_threads(alone, start, threads, monkeypatch):
    if start is not None:
        monkeypatch.setattr(team, "_start", lambda: start)
    taken, loops = np.zeros(COUNT, np.int64), np.zeros(1, np.int64)
    team.run(take_numbers_in_team, take_numbers, taken, loops, alone=alone)
    assert (taken == 1).all()
    assert loops[0] == threads


def test_looking_for_torchs_library_leaves_its_threads():
    before = torch.get_num_threads()
    team._start.cache_clear()
    team._start()
    assert torch.get_num_threads() == before
