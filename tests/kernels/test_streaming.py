"""The streaming rule of partitions."""

import numpy as np
import pytest

pytest.importorskip("numba")
from kappagcn.kernels.streaming import assign_rows


def assigned(starts, neighbours, owner, load, limit, first=0):
    within = assign_rows(first, np.array(starts), np.array(neighbours), owner, load, 0.0, limit)
    return owner.tolist(), load.tolist(), within


def test_a_node_goes_where_most_of_its_neighbours_are():
    owner, load = np.array([0, 0, 1, -1], np.int16), np.array([1.0, 0.5])
    assert assigned([0, 3], [0, 1, 2], owner, load, 10.0, first=3) == ([0, 0, 1, 0], [1.5, 0.5], 2)


def test_full_parts_count_less_and_take_nothing():
    owner, load = np.array([0, 0, 1, -1], np.int16), np.array([9.0, 0.5])
    assert assigned([0, 3], [0, 1, 2], owner, load, 10.0, first=3)[0] == [0, 0, 1, 1]
    owner, load = np.array([0, 0, 0, -1], np.int16), np.array([1.0, 0.0])
    assert assigned([0, 3], [0, 1, 2], owner, load, 1.2, first=3)[0] == [0, 0, 0, 1]


def test_further_passes_move_nodes_and_keep_the_loads():
    owner, load = np.array([0, 1, 1], np.int16), np.array([0.5, 1.0])
    owners, loads, within = assigned([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], owner, load, 3.0)
    assert (owners, loads, within) == ([1, 1, 1], [0.0, 1.5], 6)
