"""Every autograd function of the package after a change of its inputs in place, between forward and backward pass.

The gradients have to be those of the forward pass, or torch has to say that a tensor was modified.
"""

import importlib
from pathlib import Path

import pytest
import torch

import kappagcn
from kappagcn import ProductManifold
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import pair_loss
from kappagcn.embedding.ranking import Neighbours, ranking_loss
from kappagcn.errors import GeometryError
from kappagcn.geometry import numerics, pairwise, vectors
from kappagcn.graphs import path
from kappagcn.kernels.arcs import arsin_rows
from kappagcn.kernels.dispatch import torch_only
from kappagcn.kernels.rows import lift_rows
from kappagcn.nn.aggregation import midpoints
from kappagcn.nn.pair_distances import pair_squares
from kappagcn.sparse import SparseMatrix

# Linear in its one tensor, of which it saves none.
WITHOUT_TENSORS = {"kappagcn.distributed.halo_exchange._Gather"}

N, D = 5, 3
ROWS, COLS = torch.tensor([0, 1, 2, 3, 4, 0, 2]), torch.tensor([1, 2, 3, 4, 0, 0, 2])
PAIRS = torch.tensor([[0, 1, 2, 4], [3, 4, 0, 1]])
SPACE, LINE = ProductManifold.from_signature("H3", trainable=True), path(N)


def numbers(*shape, seed=0, least=0.1):
    """Numbers between `least` and 1."""
    return torch.empty(shape, dtype=torch.float64).uniform_(least, 1, generator=torch.Generator().manual_seed(seed))


def kappa(*shape):
    return torch.full(shape, -0.5, dtype=torch.float64)


def matrix(rows, cols, values):
    return SparseMatrix(rows, cols, values, (N, N))


def by_torch(function):
    def run(*tensors):
        with torch_only():
            return function(*tensors)

    return run


def pairs(v, pairs):
    return pair_squares(v, pairs, SPACE)


def all_pairs(v, weights):
    distances = GraphDistances.of(LINE)
    object.__setattr__(distances, "weights", weights)
    return pair_loss(v, SPACE, distances)


ENTRIES = [ROWS, COLS, numbers(len(ROWS), seed=1)]
X, Y = numbers(N, D), numbers(4, D, seed=1)
# The function, inputs with gradients, and other inputs.
CASES = {
    "_Analytic": (lambda z: numerics._Analytic.apply(z, "sinc"), [numbers(N)], []),
    "_Arc": (numerics.arc, [numbers(N, least=0.5), numbers(N, seed=1), kappa()], []),
    "_Norm": (vectors.norm, [X], []),
    "_Squares": (pairwise._Squares.apply, [X, Y], []),
    "_Distances": (lambda x, y, k: pairwise.cdist(x, y, k=k), [0.3 * X, 0.3 * Y, kappa()], []),
    "_Pull": (pairwise._Pull.apply, [numbers(N, 4), X, Y], []),
    "_Lift": (lift_rows, [X, kappa()], []),
    "_Arsin": (arsin_rows, [X, kappa()], []),
    "_Midpoints": (
        lambda v, k, bias, *entries: midpoints(v, matrix(*entries), k, [1, 2], bias=bias),
        [X, kappa(2), numbers(D)],
        ENTRIES,
    ),
    "_Midpoints, other values": (
        lambda v, k, values: midpoints(v, matrix(*ENTRIES).with_values(values), k, [D]),
        [X, kappa(1)],
        ENTRIES[2:],
    ),
    "_Midpoints, trained values": (
        lambda v, k, values, rows, cols: midpoints(v, matrix(rows, cols, values), k, [D]),
        [X, kappa(1), ENTRIES[2]],
        ENTRIES[:2],
    ),
    "_Product": (lambda x, *entries: matrix(*entries) @ x, [X], ENTRIES),
    "_Compiled": (pairs, [X], [PAIRS]),
    "_DirectionGaps": (by_torch(pairs), [X], [PAIRS]),
    "_Pairs": (all_pairs, [X], [GraphDistances.of(LINE).weights]),
    "_Ranks": (lambda v: ranking_loss(v, SPACE, Neighbours.of(LINE)), [X], []),
}


def inputs_of(name):
    """Copies of the inputs of a case, those with gradients first."""
    _, trained, others = CASES[name]
    return [t.clone().requires_grad_() for t in trained] + [t.clone() for t in others]


def gradients(out, tensors, create_graph):
    trained = [t for t in tensors if t.requires_grad]
    slopes = torch.autograd.grad(out.square().sum(), trained, create_graph=create_graph, allow_unused=True)
    return [slope.detach() for slope in slopes if slope is not None]


@pytest.mark.parametrize("create_graph", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("name", CASES)
def test_inputs_that_change_before_the_backward_pass_never_give_wrong_gradients(name, create_graph):
    run, inputs = CASES[name][0], inputs_of(name)
    try:
        expected = gradients(run(*inputs), inputs, create_graph)
    except GeometryError:
        assert create_graph  # a function with first derivatives alone
        return
    for changed in range(len(inputs)):
        inputs = inputs_of(name)
        out, tensor = run(*inputs), inputs[changed]
        with torch.no_grad():
            tensor.copy_(tensor / 2 if tensor.is_floating_point() else tensor.roll(1, -1))
        try:
            results = gradients(out, inputs, create_graph)
        except RuntimeError as error:
            assert "modified" in str(error)
            continue
        for result, right in zip(results, expected, strict=True):
            torch.testing.assert_close(result, right, msg=f"after a change of input {changed}")


def functions(out):
    """Names of the functions in the history of a tensor."""
    names, nodes = set(), [out.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is not None:
            names.add(type(node).__name__)
            nodes += [following for following, _ in node.next_functions]
    return names


def test_every_function_of_the_package_is_among_the_cases():
    package = Path(kappagcn.__file__).parent
    for file in package.rglob("*.py"):
        if "autograd.Function" in file.read_text():
            importlib.import_module(".".join(["kappagcn", *file.relative_to(package).with_suffix("").parts]))
    seen = set().union(*(functions(case[0](*inputs_of(name))) for name, case in CASES.items()))
    own = [f for f in torch.autograd.Function.__subclasses__() if f.__module__.startswith("kappagcn.")]
    missing = {f"{f.__module__}.{f.__name__}" for f in own if f"{f.__name__}Backward" not in seen}
    assert missing <= WITHOUT_TENSORS
