"""Arrays that come back: memory is reused, but never while it is in use."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")

from kappagcn.kernels import buffers
from kappagcn.kernels.buffers import LINE, SMALL, SPARE, Buffers

LARGE = 2 * SMALL


@pytest.fixture(autouse=True)
def store(monkeypatch):
    """A store of its own for each test."""
    own = buffers._Store()
    monkeypatch.setattr(buffers, "_store", own)
    return own


def test_memory_is_reused_after_its_use_alone():
    first, second = Buffers(), Buffers()
    one, other = first.empty((LARGE,), np.uint8), second.empty((LARGE,), np.uint8)
    assert not np.shares_memory(one, other)
    del first
    again = second.empty((LARGE // 8 - 3,), np.float64)
    assert np.shares_memory(one, again)
    assert not np.shares_memory(other, again)


def test_memory_that_came_back_has_one_user_at_a_time():
    own = Buffers()
    for _ in range(4):  # several at one time, because the store keeps no more than SPARE times what was in use
        own.empty((LARGE,), np.uint8)
    del own
    first, second = Buffers(), Buffers()
    assert not np.shares_memory(first.empty((LARGE,), np.uint8), second.empty((LARGE,), np.uint8))


def test_large_arrays_begin_at_a_cache_line():
    own = Buffers()
    for columns in range(1, 6):
        array = own.empty((LARGE, columns), np.float32)
        assert array.shape == (LARGE, columns)
        assert array.ctypes.data % LINE == 0


def test_free_memory_is_bounded(store):
    for size in range(1, 40):
        own = Buffers()
        own.empty((LARGE * size**2,), np.uint8)
        del own
        assert store.used == 0
        assert sum(space.size for space in store.free) <= SPARE * store.peak


def test_small_arrays_and_much_smaller_ones_take_no_large_buffer(store):
    own = Buffers()
    own.empty((8 * LARGE,), np.uint8)
    del own
    other = Buffers()
    other.empty((SMALL,), np.uint8)
    other.empty((LARGE,), np.uint8)
    assert [space.size for space in store.free] == [8 * LARGE + LINE]


def test_threads_do_not_get_the_same_memory():
    """Each thread writes its own number all over its arrays, and reads it again."""

    def work(number):
        for turn in range(200):
            own = Buffers()
            arrays = [own.empty((SMALL + 8 * (turn % 5 + k + 1),), np.uint8) for k in range(2)]
            for array in arrays:
                array[::4096] = number
            assert all((array[::4096] == number).all() for array in arrays)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert buffers._store.used == 0
