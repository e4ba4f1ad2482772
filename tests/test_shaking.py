"""What `--shaken` does: everything drawn is off by a millionth, and nothing else happens to the generators."""

import inspect

import numpy as np
import pytest
import torch
from torch_geometric.nn.inits import glorot

from kappagcn import GraphEmbedder, KappaGCNClassifier, graphs
from kappagcn.embedding.mds import classical_mds
from kappagcn.models import KappaGCN
from shaking import SIZE, shaken
from workers import Worker, execute


def network_weights():
    network = KappaGCN(20, 3, ["H8xS8"])
    return torch.cat([p.flatten() for p in network.parameters() if p.dim() == 2])


def kept_by_dropout():
    torch.manual_seed(1)
    return torch.nn.Dropout(0.5)(torch.ones(1000))


def points_on_a_line():
    squares = np.arange(1.0, 9.0) ** 2
    return torch.from_numpy(classical_mds(np.abs(np.subtract.outer(squares, squares)), 1))


DRAWS = {
    "weights of a network": network_weights,
    "glorot": lambda: glorot(tensor := torch.empty(30, 30)) or tensor,
    "torch.randn": lambda: torch.randn(1000),
    "torch.rand": lambda: torch.rand(1000, dtype=torch.float64),
    "gumbel noise": lambda: torch.nn.functional.gumbel_softmax(torch.zeros(1000)),
    "dropout": kept_by_dropout,
    "numpy": lambda: torch.from_numpy(np.random.default_rng(0).standard_normal(1000)),
    "multidimensional scaling": points_on_a_line,
}


def off(shaken_values, values):
    """The largest relative difference."""
    return float(((shaken_values - values).abs() / values.abs().clamp(min=1e-12)).max())


@pytest.mark.parametrize("name", DRAWS)
def test_what_is_drawn_is_off_by_a_millionth(name):
    def draw():
        torch.manual_seed(0)
        return DRAWS[name]().detach(), torch.get_rng_state()

    values, after = draw()
    with shaken(10**9):
        results = [draw() for _ in range(2)]
    with shaken(10**9 + 1):
        another, _ = draw()
    for result, state in results:
        assert SIZE / 10 < off(result, values) < 5 * SIZE
        assert torch.equal(state, after)
        assert torch.equal(result, results[0][0]), "repeated from the same seed it is the same"
    assert off(another, result) > SIZE / 10
    assert torch.equal(draw()[0], values), "it ends with the context"


def test_shares_of_one_stay_below_it():
    with shaken(3):
        drawn = [torch.rand(10_000, dtype=torch.float16), torch.empty(10_000).uniform_(0.999999, 1)]
        numbers = np.random.default_rng(0).random(100_000)
    assert all((tensor < 1).all() for tensor in drawn)
    assert numbers.max() < 1
    assert isinstance(np.random.default_rng(0).random(), float)


def test_embeddings_and_classifiers_start_elsewhere():
    club, graph = graphs.load_graph("karate"), graphs.disease(100)

    def train():
        embedder = GraphEmbedder("H2", epochs=1, verbose=False).fit(club)
        classifier = KappaGCNClassifier("H4", epochs=1, verbose=False).fit(graph)
        return torch.as_tensor(embedder.embedding_), torch.as_tensor(classifier.predict_proba())

    plain = train()
    with shaken(10**9):
        other = train()
    for a, b in zip(other, plain, strict=True):
        assert 0 < (a - b).abs().max() < 1e-3


def test_the_option_reaches_every_test_and_the_processes_they_start(request, tmp_path):
    seed = request.config.getoption("shaken")
    torch.manual_seed(0)
    drawn = torch.randn(100)
    torch.manual_seed(0)
    plain = inspect.unwrap(torch.randn)(100)
    assert (off(drawn, plain) > SIZE / 10) == (seed is not None)
    code = f"import torch; torch.manual_seed(0); torch.save(torch.randn(100), {str(tmp_path / 'drawn')!r})"
    assert Worker(execute, code).ended()[2] == 0
    assert torch.equal(torch.load(tmp_path / "drawn"), drawn)
