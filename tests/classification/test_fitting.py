"""`fit` learns, warns, resumes only its own runs, and refuses what it cannot train on."""

import math

import pytest
import torch
from torch import nn

from kappagcn.classification.evaluation import final_evaluation, predict
from kappagcn.classification.fitting import fit
from kappagcn.errors import CheckpointError, ConfigError, GraphError, PrecisionWarning
from kappagcn.graphs import Split, disease, random_split
from kappagcn.models import GCN, HGCN, MLP, KappaGCN
from kappagcn.nn import TangentFeatures
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import seeded
from small_networks import network


@pytest.mark.parametrize("build", [network, lambda: GCN(10, 2), lambda: HGCN(10, 2), lambda: MLP(10, 2)])
def test_training_learns(build, data, split):
    with seeded(1):
        model = build()
    result = fit(model, data, split, TrainingSettings(epochs=150, patience=150))
    after = final_evaluation(model, data, split)
    assert result.history[-1]["train_loss"] < 0.75 * result.history[0]["train_loss"], "20 seeds show 0.66 at most"
    assert after["accuracy"] > 0.55, "and 0.65 at least, the network that sees no neighbours"


def test_rows_beyond_the_precision_give_a_warning(data, split):
    data.x = torch.ones(200, 10)
    model = network(act="none", dropout=0.0)
    model.hidden[0].lin.weight.data.fill_(1.0)
    with pytest.warns(PrecisionWarning, match="scale the features"):
        result = fit(model, data, split, TrainingSettings(epochs=1))
    assert result.capped_rows > 0


def test_a_run_resumes_only_with_its_own_data_and_nodes(data, split, tmp_path):
    """Else test nodes of one split could train in another under the same name."""
    config = TrainingSettings(epochs=3)
    fit(network(), data, split, config, folder=tmp_path)
    other = random_split(data.y, 0, test_seed=5)
    assert other.name == split.name
    with pytest.raises(CheckpointError, match=r"nodes \w+ instead of"):
        fit(network(), data, other, config, folder=tmp_path, resume=True)
    for change in ({"x": 2 * data.x}, {"edge_index": data.edge_index[:, 2:]}):
        with pytest.raises(CheckpointError, match=r"found data \w+ instead of"):
            fit(network(), data.clone().update(change), split, config, folder=tmp_path, resume=True)
    with pytest.raises(CheckpointError, match=r"dtype torch\.float64 instead of torch\.float32"):
        fit(
            network().double(), data.clone().update({"x": data.x.double()}), split, config, folder=tmp_path, resume=True
        )


def with_x(data, change):
    data.x = data.x.clone()
    change(data.x)
    return data


def spoil(x):
    x[7, 3] = math.nan


CASES = {
    "NaN features": (lambda d, s: (with_x(d, spoil), s), "1 entries that are NaN or infinite, first in row 7"),
    "no features": (lambda d, s: (d.update({"x": None}), s), "expected features, data.x"),
    "integer features": (lambda d, s: (d.update({"x": d.x.long()}), s), "floating-point numbers, .*found torch.int64"),
    "other width": (
        lambda d, s: (d.update({"x": d.x[:, :4]}), s),
        "expected 10 features, as the network takes, found 4",
    ),
    "class missing": (
        lambda d, s: (d, Split(s.train[d.y[s.train] == 0], s.stopping, s.validation, [])),
        "training nodes of all 2 classes, found none of class 1",
    ),
    "edge out of range": (
        lambda d, s: (d.update({"edge_index": d.edge_index + 1}), s),
        "edges between nodes 0 and 199, found 1 to 200",
    ),
    "labels for others": (lambda d, s: (d.update({"y": d.y[:50]}), s), r"data.y \(200,\) of int64, found"),
    "a class too many": (
        lambda d, s: (d.update({"y": d.y * 3}), s),
        "expected classes 0 to 1, as the network has, found 3",
    ),
    "unlabelled": (lambda d, s: (d.update({"y": d.y - 1}), s), "a class for every train node"),
    "NaN weights": (
        lambda d, s: (d.update({"edge_weight": torch.full((d.edge_index.shape[1],), math.nan)}), s),
        "finite edge weights from 0",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_trained_is_named_before_training_starts(case, data, split, tmp_path):
    change, words = CASES[case]
    spoilt, other = change(data, split)
    with pytest.raises(ConfigError, match=words):
        fit(network(), spoilt, other, TrainingSettings(epochs=1), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_nan_in_sparse_features_is_found_too(data, split):
    spoilt = with_x(data, spoil)
    spoilt.x = spoilt.x.to_sparse_csr()
    with pytest.raises(ConfigError, match="1 entries that are NaN"):
        fit(network(), spoilt, split)


def test_no_training_nodes(data):
    with pytest.raises(GraphError, match="expected nodes to train on, found none"):
        Split([], [0], [1], [2])
    data.train_mask = torch.zeros(200, dtype=torch.bool)
    with pytest.raises(GraphError, match="expected nodes to train on, found none"):
        fit(network(), data)
    del data.train_mask
    with pytest.raises(GraphError, match=r"data\.train_mask, found neither"):
        fit(network(), data)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, d, s: fit(m, d, TrainingSettings()), "expected a Split, such as random_split"),
        (lambda m, d, s: fit(m, d, "random"), "expected a Split, .*found str"),
        (lambda m, d, s: fit(m, d, s, {"epochs": 3}), "expected a TrainingSettings, found dict"),
        (lambda m, d, s: fit(m, d, s, resume=True), "expected the folder of the run"),
        (lambda m, d, s: fit(nn.Linear(3, 2), d, s), "expected a network of kappagcn.models, found Linear"),
        (lambda m, d, s: fit(m, "cora", s), "expected a graph as PyG's Data, found str"),
        (lambda m, d, s: fit(m, d.update({"x": d.x.double()}), s), "features of torch.float32, as the"),
        (lambda m, d, s: fit(m, d.update({"x": d.x.numpy()}), s), "as a tensor .*found ndarray"),
        (lambda m, d, s: fit(m, d.update({"y": d.y.int()}), s), "of int64, found torch.int32"),
        (lambda m, d, s: fit(m, d.update({"edge_weight": [1.0]}), s), "expected one weight per edge"),
        (lambda m, d, s: fit(m, d.update({"edge_weight": -torch.ones(d.num_edges)}), s), "edge weights from 0"),
        (lambda m, d, s: predict("runs/a", d), "expected a network of kappagcn.models, found str"),
        (lambda m, d, s: final_evaluation(m, d.update({"y": d.y + 5}), s), "classes 0 to 1, found 5 to 6"),
        (lambda m, d, s: final_evaluation(m, d.update({"y": None}), s), "data.y .*found NoneType"),
    ],
)
def test_common_mistakes_end_in_a_sentence(call, words, data, split):
    with pytest.raises(ConfigError, match=words):
        call(network(), data, split)


def test_a_class_without_training_nodes_is_named_and_never_predicted():
    graph = disease(60)
    graph.y = torch.arange(60) % 3
    nodes = torch.arange(60)
    split = Split(nodes[:40][graph.y[:40] < 2], nodes[40:50], [], nodes[50:])
    model = KappaGCN(10, 3, "H4")
    with pytest.warns(UserWarning, match="found none of class 2, which is then never predicted"):
        fit(model, TangentFeatures(0.1)(graph), split, TrainingSettings(epochs=30))
    assert int(predict(model, graph).argmax(1).max()) < 2
