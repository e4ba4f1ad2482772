"""Random numbers and numerical solutions off by a millionth: what `pytest --shaken=SEED` runs the tests with.

What depends on the last digit differs from processor to processor. Under `shaken`, every float that torch or NumPy
draws at random, and every solution of an eigenvalue or least squares problem, is multiplied by 1 + 1e-6·u with u in
[-1, 1): initial weights, starts of embeddings, noise, entries that dropout keeps. So results differ about as much as
those of two processors do after some epochs of training.

u is a hash of the number and the seed, so nothing more is drawn from any generator, and the same draw gives the same
number wherever it is repeated: in a resumed run, in another process, in a part of a tensor. For dropout it is a hash
of the place, since numbers that dropout takes have rounding errors.
"""

import contextlib
import functools
import os
from unittest import mock

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
import torch

SIZE = 1e-6
ENVIRONMENT = "KAPPAGCN_TESTS_SHAKEN"  # the seed, for processes that tests start
DRAWN = ("rand", "rand_like", "randn", "randn_like", "normal")
FILLED = ("uniform_", "normal_", "exponential_", "log_normal_", "cauchy_")
FROM_NUMPY = ("random", "uniform", "standard_normal", "normal", "exponential")
SOLVERS = [
    *((np.linalg, name) for name in ("eigh", "svd", "qr")),
    *((scipy.linalg, name) for name in ("eigh", "svd", "qr")),
    *((scipy.sparse.linalg, name) for name in ("eigsh", "svds", "lsmr")),
]
MIX, MIX_AGAIN = -7046029254386353131, -4658895280553007687  # odd, with half of their bits set


@torch.no_grad()
def factor(values, seed):
    """1 + 1e-6·u for each entry, of its dtype."""
    bits = values.double().contiguous().view(torch.int64) ^ (seed * MIX_AGAIN % 2**63)
    bits = (bits ^ (bits >> 31)) * MIX
    bits = (bits ^ (bits >> 29)) * MIX_AGAIN
    u = (bits >> 11).double() / 2**52
    return (1 + SIZE * u).to(values.dtype)


@torch.no_grad()
def shake(values, seed, below=None):
    """Multiply entries in place; they stay below a bound."""
    if values.is_floating_point() and not values.is_sparse:
        values.mul_(factor(values.detach(), seed))
        if below is not None:
            values.clamp_(max=below - abs(below) * torch.finfo(values.dtype).eps)
    return values


def shaken_array(values, seed, below=None):
    """An array, or a number, after `shake`."""
    if np.ndim(values) == 0 and not isinstance(values, float):
        return values
    tensor = shake(torch.tensor(np.array(values)), seed, below)
    return float(tensor) if np.ndim(values) == 0 else tensor.numpy()


def drawing(draw, seed):
    """One of torch's functions that draw a tensor."""
    below = 1 if "rand" in draw.__name__ and "randn" not in draw.__name__ else None

    @functools.wraps(draw)
    def wrapper(*arguments, **options):
        return shake(draw(*arguments, **options), seed, below)

    return wrapper


def filling(fill, seed):
    """One of the methods of a tensor that fill it."""

    @functools.wraps(fill)
    def wrapper(tensor, *arguments, **options):
        result = fill(tensor, *arguments, **options)
        if fill.__name__ != "uniform_":
            return shake(result, seed)
        upper = options.get("to", arguments[1] if len(arguments) > 1 else 1)
        return shake(result, seed, upper)

    return wrapper


def dropping(dropout, seed):
    """Dropout whose factor differs from entry to entry."""

    @functools.wraps(dropout)
    def wrapper(input, p=0.5, training=True, inplace=False):
        result = dropout(input, p, training, inplace)
        if not training or not p:
            return result
        places = torch.arange(result.numel(), dtype=torch.float64, device=result.device).reshape(result.shape)
        return result * factor(places, seed).to(result.dtype)

    return wrapper


def solving(solve, seed):
    """A solver whose arrays are off."""

    @functools.wraps(solve)
    def wrapper(*arguments, **options):
        result = solve(*arguments, **options)
        if isinstance(result, tuple):
            changed = [shaken_array(each, seed) if isinstance(each, np.ndarray) else each for each in result]
            return type(result)(*changed) if hasattr(result, "_fields") else tuple(changed)
        return shaken_array(result, seed)

    return wrapper


def generator_class(seed):
    """NumPy's generator with other floats."""

    def method(name):
        draw = getattr(np.random.Generator, name)

        @functools.wraps(draw)
        def wrapper(self, *arguments, **options):
            upper = {"random": 1, "uniform": options.get("high", arguments[1] if len(arguments) > 1 else 1)}.get(name)
            return shaken_array(draw(self, *arguments, **options), seed, upper)

        return wrapper

    return type("Generator", (np.random.Generator,), {name: method(name) for name in FROM_NUMPY})


@contextlib.contextmanager
def shaken(seed):
    """Shake while this lasts, also in processes of workers.py that are started meanwhile."""
    generator, default_rng = generator_class(seed), np.random.default_rng

    def shaken_rng(source=None):
        return generator(default_rng(source).bit_generator)

    with contextlib.ExitStack() as stack:
        for name in DRAWN:
            stack.enter_context(mock.patch.object(torch, name, drawing(getattr(torch, name), seed)))
        for name in FILLED:
            stack.enter_context(mock.patch.object(torch.Tensor, name, filling(getattr(torch.Tensor, name), seed)))
        for module, name in SOLVERS:
            stack.enter_context(mock.patch.object(module, name, solving(getattr(module, name), seed)))
        functional = torch.nn.functional
        stack.enter_context(mock.patch.object(functional, "dropout", dropping(functional.dropout, seed)))
        stack.enter_context(mock.patch.object(np.random, "default_rng", shaken_rng))
        stack.enter_context(mock.patch.dict(os.environ, {ENVIRONMENT: str(seed)}))
        yield


def shaken_as_parent():
    """`shaken` in a process that one under it has started; elsewhere nothing."""
    seed = os.environ.get(ENVIRONMENT)
    return shaken(int(seed)) if seed else contextlib.nullcontext()
