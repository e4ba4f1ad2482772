import numpy as np
import pytest
import torch

from kappagcn.geometry import dist, expmap0
from kappagcn.view.report import colouring as node_quality
from kappagcn.view.report.colouring import node_distortion
from report_runs import embedded, tree_edges


def test_the_mean_over_all_other_nodes(monkeypatch):
    rng = np.random.default_rng(0)
    made = embedded(rng.normal(size=(13, 3)), [2, 1], [-0.7, 0.0], tree_edges(13))
    v, total = torch.as_tensor(made.tangent), 0
    for k, part in made.factors:
        x = expmap0(v[:, part], k=k)
        total = total + dist(x[:, None], x[None], k=k) ** 2
    steps = np.full((13, 13), np.inf)
    np.fill_diagonal(steps, 0)
    for a, b in made.edges:
        steps[a, b] = steps[b, a] = 1
    for middle in range(13):
        steps = np.minimum(steps, steps[:, [middle]] + steps[[middle]])
    off = ~np.eye(13, dtype=bool)
    errors = np.abs(total.sqrt().numpy()[off].reshape(13, 12) / steps[off].reshape(13, 12) - 1)
    assert np.allclose(node_distortion(made), errors.mean(1))
    monkeypatch.setattr(node_quality, "MOST_OTHERS", 6)
    some = node_distortion(made)
    assert np.abs(some - errors.mean(1)).max() < errors.max()


def test_a_node_without_a_path_has_none():
    made = embedded(np.eye(3, 2), [2], [-1.0], np.array([[0, 1]]))
    values = node_distortion(made)
    assert np.isnan(values[2])
    assert values[0] == pytest.approx(values[1])
