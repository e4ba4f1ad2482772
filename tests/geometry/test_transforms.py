"""torch.compile without graph breaks, vmap, jacrev and torch.export, on every function; gradients on every function."""

import pytest
import torch

import kappagcn.geometry as G
from cases import CASES, OTHERS, tensors
from kappagcn.errors import GeometryError

KAPPAS = torch.tensor([-0.8, -1e-9, 0.0, 1e-9, 0.6], dtype=torch.float64)
EACH = pytest.mark.parametrize("name", CASES)
CLOSE = {"rtol": 1e-12, "atol": 1e-13}


def test_no_function_is_left_out():
    functions = {name for name in G.__all__ if name[0].islower()}
    assert functions == set(CASES) | OTHERS


class Arguments(dict):
    """Tensors by name, and the names of those that were asked for."""

    def __init__(self, tensors):
        super().__init__(tensors)
        self.used = []

    def __getitem__(self, name):
        self.used.append(name)
        return super().__getitem__(name)


@EACH
def test_gradients_by_everything_through_zero(name):
    arguments = Arguments(tensors())
    CASES[name](arguments, KAPPAS[0])
    leaves = {key: t.requires_grad_() for key, t in arguments.items() if key in arguments.used}
    for kappa in KAPPAS:
        k = kappa.clone().requires_grad_()
        f = lambda k, *args: CASES[name](dict(zip(leaves, args, strict=True)), k)  # noqa: E731
        assert torch.autograd.gradcheck(f, (k, *leaves.values()))
        # Along random directions: entry by entry the second derivatives alone would take minutes.
        assert torch.autograd.gradgradcheck(f, (k, *leaves.values()), atol=1e-4, fast_mode=True)


SMALLEST = [
    *((torch.float32, k) for k in (1e-20, 1e-25, 1e-38, 1e-41)),  # the last of each dtype is subnormal
    *((torch.float64, k) for k in (1e-277, 1e-307, 1e-311)),
]


@EACH
@pytest.mark.parametrize(("dtype", "size"), SMALLEST, ids=str)
def test_derivatives_by_the_smallest_curvatures(name, dtype, size):
    """A branch for κ > 0 that overflows as κ → 0 must not make NaN of the derivative of the others."""

    def slope(kappa):
        k = torch.tensor(kappa, dtype=dtype, requires_grad=True)
        value = CASES[name](tensors(dtype), k)
        return torch.autograd.grad(value.sum(), k)[0]

    flat, scale = slope(0.0), tensors(dtype)["x"].square().sum()
    for kappa in (size, -size):
        torch.testing.assert_close(slope(kappa), flat, rtol=1e-4, atol=1e-5 * float(scale))


@EACH
def test_autocast_changes_no_digit(name):
    t = tensors(torch.float32)
    k = torch.tensor(-0.8)
    expected = CASES[name](t, k)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = CASES[name](t, k)
    assert value.dtype == torch.float32
    assert torch.equal(value, expected)


@EACH
def test_half_precision_is_refused(name):
    if name in ("neg", "fn_apply"):
        return  # −x, and whatever functions are given, hold in any dtype
    with pytest.raises(GeometryError, match=r"expected dtype float32 or float64, found torch.(bfloat16|float16)"):
        CASES[name](tensors(torch.bfloat16), torch.tensor(-0.8))


# Tracing takes as long as there are operations: one step of the search shows what three would.
TRACED = {**CASES, "frechet_mean": lambda t, k: G.frechet_mean(t["x"], t["w"], k=k, steps=1)}
ONE_STEP = pytest.mark.filterwarnings("ignore:frechet_mean:kappagcn.errors.ConvergenceWarning")


# aot_eager traces the backward too, at four times the cost; these go through every backward that the geometry defines.
WITH_BACKWARD = ("add", "dist", "dist0", "cdist", "cdist2", "midpoint", "logits")


@ONE_STEP
@EACH
def test_compiles_as_one_graph(name):
    """fullgraph=True fails on any Python branch on a value; neither backend needs a compiler."""
    backend = "aot_eager" if name in WITH_BACKWARD else "eager"
    compiled = torch.compile(TRACED[name], fullgraph=True, backend=backend)
    for kappa in (-0.8, 0.6):
        values, expected = [], []
        for f, results in ((compiled, values), (TRACED[name], expected)):
            t = {key: value.requires_grad_() for key, value in tensors().items()}
            k = torch.tensor(kappa, dtype=torch.float64, requires_grad=True)
            value = f(t, k)
            grads = torch.autograd.grad(
                value.square().sum(), [k, *t.values()], allow_unused=True, materialize_grads=True
            )
            results.extend([value.detach(), *grads])
        for f, e in zip(values, expected, strict=True):
            torch.testing.assert_close(f, e, **CLOSE)


@EACH
def test_vmap_over_curvatures_and_points(name):
    t = tensors()
    actual = torch.func.vmap(lambda k: CASES[name](t, k))(KAPPAS)
    # Eager, the Fréchet mean stops when it has converged; under vmap it takes all its steps.
    close = {"rtol": 1e-10, "atol": 1e-11} if name == "frechet_mean" else CLOSE
    torch.testing.assert_close(actual, torch.stack([CASES[name](t, k) for k in KAPPAS]), **close)
    many = {key: torch.stack([value, 0.5 * value, 0.9 * value]) for key, value in t.items()}
    actual = torch.func.vmap(lambda t: CASES[name](t, KAPPAS[0]))(many)
    one = [CASES[name]({key: value[i] for key, value in many.items()}, KAPPAS[0]) for i in range(3)]
    torch.testing.assert_close(actual, torch.stack(one), **close)


@EACH
def test_jacrev_by_curvature_under_vmap(name):
    t = tensors()
    f = lambda k: CASES[name](t, k)  # noqa: E731
    actual = torch.func.vmap(torch.func.jacrev(f))(KAPPAS)
    h = 1e-6
    for slope, k in zip(actual, KAPPAS, strict=True):
        torch.testing.assert_close(slope, (f(k + h) - f(k - h)) / (2 * h), rtol=1e-5, atol=1e-6)


# Strictly means traced by what compiles above, so a few functions show it.
STRICT = ("dist", "expmap", "midpoint", "logits")
EXPORTS = [*((name, False) for name in CASES), *((name, True) for name in STRICT)]


@ONE_STEP
@pytest.mark.parametrize(("name", "strict"), EXPORTS)
def test_exports(name, strict):
    class Wrapped(torch.nn.Module):
        def forward(self, t, k):
            return TRACED[name](t, k)

    t, k = tensors(), KAPPAS[0]
    program = torch.export.export(Wrapped(), (t, k), strict=strict)
    for kappa in (KAPPAS[0], KAPPAS[4]):
        torch.testing.assert_close(program.module()(t, kappa), TRACED[name](t, kappa), **CLOSE)


@pytest.mark.parametrize("k", [-1.0, 0.5])
def test_sampling_compiles(k):

    @torch.compile(fullgraph=True, backend="aot_eager")
    def draw(k):
        return G.random_uniform(5, 3, k=k, dtype=torch.float64), G.random_wrapped_normal(
            torch.zeros(5, 3).double(), k=k
        )

    for sample in draw(torch.tensor(k, dtype=torch.float64)):
        assert sample.shape == (5, 3)
        assert (1 + k * sample.square().sum(-1) > 0).all()
