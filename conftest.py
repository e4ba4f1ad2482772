"""What every test and doctest starts from: seeded generators, few threads, hypothesis without chance unless asked."""

import contextlib
import gc
import importlib
import os
import random
import sys
from collections.abc import Callable, Iterator

import hypothesis
import hypothesis.internal.conjecture.providers
import numpy as np
import pytest
import torch

from shaking import shaken


def has_numba() -> bool:
    """Whether numba can be imported, not only found: `make portable` hides it."""
    try:
        importlib.import_module("numba")
    except ImportError:
        return False
    return True


SEED = 0
# A module whose import failed while doctests were collected would stay behind in its package, half filled.
NEEDS_NUMBA = ["src/kappagcn/kernels/*.py", "tests/kernels/forking_worker.py"]
collect_ignore_glob = [] if has_numba() else NEEDS_NUMBA

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


class TorchGenerator:
    """Torch's global generator as hypothesis wants it: seeded before each example, put back after it."""

    seed = staticmethod(torch.manual_seed)
    getstate = staticmethod(torch.get_rng_state)
    setstate = staticmethod(torch.set_rng_state)


torch_generator = TorchGenerator()
hypothesis.register_random(torch_generator)
# Hypothesis also draws constants of imported modules, so examples would depend on the tests that ran before.
hypothesis.internal.conjecture.providers.is_local_module_file = lambda _path: False
hypothesis.settings.register_profile("test", deadline=None, max_examples=30, derandomize=True, database=None)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=600, database=None, print_blob=True)
hypothesis.settings.load_profile("test")  # make fuzz takes the other by --hypothesis-profile


def seed_all() -> None:
    """Put the global generators into one known state."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002  what a test may draw from without a generator of its own
    torch.manual_seed(SEED)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--shaken=SEED`, which `make shaken` gives."""
    parser.addoption(
        "--shaken",
        type=int,
        metavar="SEED",
        help="multiply every random number and start of training by 1 + 1e-6·u; what fails depends on the last digit",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Shake from the first import of the package to the end of the session."""
    seed = config.getoption("shaken")
    if seed is not None:
        stack = contextlib.ExitStack()
        stack.enter_context(shaken(seed))
        config.add_cleanup(stack.close)


def pytest_collection_finish() -> None:
    """Collect garbage less often, and pass over what was imported, which no test frees."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> None:
    """Fixtures of a module or session draw the same whichever test comes first."""
    if fixturedef.scope != "function":
        seed_all()


@pytest.fixture(autouse=True)
def fresh_state() -> None:
    """Every test draws the same, and compiles as if nothing had been compiled, whichever ran before it."""
    seed_all()
    if "torch._dynamo" in sys.modules:  # it remembers code that it could not compile
        torch._dynamo.reset()


@pytest.fixture
def set_torch_threads() -> Iterator[Callable[[int], None]]:
    """`torch.set_num_threads`, whose effect ends with the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
