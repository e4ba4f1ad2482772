"""Training on mini-batches, alone and with several workers."""

import json

import pytest
import torch
from torch import nn

import training_worker
from kappagcn.classification.evaluation import final_evaluation
from kappagcn.classification.fitting import fit
from kappagcn.classification.minibatch import MiniBatch, MiniBatches
from kappagcn.errors import ConfigError, DivergedError, PrecisionWarning
from kappagcn.graphs import Split
from kappagcn.models import HGCN, KappaGCN
from kappagcn.training.checkpoint import load_model
from kappagcn.training.layer_by_layer import layerwise
from kappagcn.training.minibatch import MiniBatchTrainer
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import seeded
from small_networks import build, network, same
from workers import Worker


def fit_minibatch(model, data, split, config=None, *, batch_size=512, num_neighbors=10, **options):
    own = {name: options.pop(name) for name in ("inference_batch_size", "group") if name in options}
    return fit(model, data, split, config, strategy=MiniBatch(batch_size, num_neighbors, **own), **options)


def test_with_one_batch_and_all_neighbours_training_is_that_of_the_whole_graph(data, split):
    off = {"dropout": 0.0, "adjacency_dropout": 0.0, "dropconnect": 0.0}
    config = TrainingSettings(epochs=8)
    whole = fit(one := network(**off).double(), data.update({"x": data.x.double()}), split, config)
    batched = fit_minibatch(other := network(**off).double(), data, split, config, batch_size=1000, num_neighbors=-1)
    for a, b in zip(whole.history, batched.history, strict=True):
        assert a.keys() == b.keys()
        assert all(a[key] == pytest.approx(b[key], abs=1e-9) for key in a)
    for name, t in one.state_dict().items():
        assert torch.allclose(t, other.state_dict()[name], atol=1e-8), name


@pytest.mark.parametrize(
    ("name", "sparse"),
    [
        ("hyperbolic", True),
        ("product, three layers", False),
        ("gcn", False),
        ("hgcn", True),
        ("hgcn at nodes", False),
        ("mlp", True),
    ],
)
def test_every_network_learns_on_batches(name, sparse, data, split):
    model = build(name)
    if sparse:
        data.x = data.x.to_sparse_csr()
    result = fit_minibatch(model, data, split, TrainingSettings(epochs=25), batch_size=40, num_neighbors=4)
    assert result.history[-1]["train_loss"] < 0.85 * result.history[0]["train_loss"]
    assert final_evaluation(model, data, split)["accuracy"] > 0.6
    for p in model.parameters():
        assert torch.isfinite(p).all()


def test_an_epoch_goes_once_through_the_training_nodes_in_another_order_each_time(data, split):
    task = MiniBatches(network(), data, split, batch_size=50, num_neighbors=(3, 2))
    orders = []
    for epoch in (1, 2):
        seen = []
        for count in task.batches(0, epoch):
            seeds, share = task._batch
            assert len(seeds) == count == round(1 / share) <= 50
            seen.append(seeds)
        orders.append(torch.cat(seen))
        assert torch.equal(orders[-1].sort().values, split.train.sort().values)
    assert not torch.equal(*orders)


def test_the_loss_of_an_epoch_is_the_mean_over_its_training_nodes(data, split):
    model = network(dropout=0.0, adjacency_dropout=0.0, dropconnect=0.0)
    before = model(data.x, data.edge_index).detach()
    config = TrainingSettings(epochs=1, lr=0.0, curvature_lr=0.0)
    record = fit_minibatch(model, data, split, config, batch_size=32, num_neighbors=-1).history[0]
    want = nn.functional.cross_entropy(before[split.train], data.y[split.train])
    assert record["train_loss"] == pytest.approx(float(want), rel=1e-5)


def test_a_seed_gives_the_same_numbers_and_leaves_the_callers_random_state(data, split):
    config, batches = TrainingSettings(epochs=6, random_state=3), {"batch_size": 30, "num_neighbors": (3, 2)}
    torch.manual_seed(5)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    one = fit_minibatch(first := network(), data, split, config, **batches)
    assert torch.equal(torch.rand(3), drawn)
    two = fit_minibatch(second := network(), data, split, config, **batches)
    assert one.history == two.history
    same(dict(first.state_dict()), dict(second.state_dict()))
    assert fit_minibatch(network(), data, split, TrainingSettings(epochs=6), **batches).history != one.history


def test_a_resumed_run_ends_in_the_same_bits(data, split, tmp_path):
    config, batches = TrainingSettings(epochs=9, random_state=1), {"batch_size": 30, "num_neighbors": 3}
    whole = fit_minibatch(one := network(), data, split, config, folder=tmp_path / "whole", **batches)

    class Stopped(Exception):
        pass

    def interrupt(record):
        if record["epoch"] == 4:
            raise Stopped

    options = {"folder": tmp_path / "b", **batches}
    with pytest.raises(Stopped):
        fit_minibatch(network(), data, split, config, callbacks=[interrupt], checkpoint_seconds=0, **options)
    resumed = fit_minibatch(other := network(seed=9), data, split, config, resume=True, **options)
    assert resumed.resumed_after == 3 or resumed.resumed_after == 4
    assert resumed.history == whole.history
    same(dict(other.state_dict()), dict(one.state_dict()))
    same(dict(load_model(tmp_path / "b").state_dict()), dict(one.state_dict()))


def test_patience_and_the_best_weights(data, split):
    seen = {}
    model = network()

    def watch(record):
        seen[record["epoch"]] = {name: t.clone() for name, t in model.state_dict().items()}

    config = TrainingSettings(epochs=500, patience=4, lr=0.1)
    result = fit_minibatch(model, data, split, config, batch_size=40, num_neighbors=5, callbacks=[watch])
    assert result.stopped_by == "patience"
    same(dict(model.state_dict()), seen[result.best_epoch])
    scores = layerwise(model, data.x, data.edge_index)[split.stopping]
    accuracy = float((scores.argmax(1) == data.y[split.stopping]).double().mean())
    assert result.best["stopping_accuracy"] == pytest.approx(accuracy)  # from all neighbours


def test_labels_of_test_nodes_are_never_seen(data, split):
    config, batches = TrainingSettings(epochs=4), {"batch_size": 30, "num_neighbors": 3}
    one = fit_minibatch(network(), data, split, config, **batches)
    changed = data.clone()
    changed.y[split.final_test_nodes()] = -1
    two = fit_minibatch(network(), changed, split, config, **batches)
    assert one.history == two.history
    task = MiniBatches(network(), data, split, batch_size=30)
    assert (task.labels[split.final_test_nodes()] == -1).all()


def test_without_stopping_nodes_the_training_nodes_decide(data):
    nodes = torch.arange(200)
    result = fit_minibatch(
        network(), data, Split(nodes[:150], [], [], nodes[150:]), TrainingSettings(epochs=2), batch_size=64
    )
    assert "stopping_loss" in result.history[0]
    assert "validation_loss" not in result.history[0]


class Bad(nn.Module):
    """A layer that answers NaN from its fifth call in training on."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.calls = layer, 0

    def forward(self, v):
        self.calls += self.training
        return self.layer(v) * (torch.nan if self.calls >= 5 and self.training else 1.0)


@pytest.mark.parametrize("good", [0, 1])
def test_a_nan_ends_training_in_the_state_before_the_epoch(good, data, split):
    model = network()
    task = MiniBatches(model, data, split, batch_size=40, num_neighbors=3)  # three batches in an epoch
    trainer = MiniBatchTrainer(model, task, TrainingSettings())
    for _ in range(good):
        trainer.run_epoch()
    before = {name: t.clone() for name, t in trainer.tensors().items()}
    model.logits = Bad(model.logits)
    model.logits.calls = 3  # the second batch fails
    with pytest.raises(DivergedError, match=f"epoch {good + 1}: expected a finite training loss, found nan"):
        trainer.run_epoch()
    model.logits = model.logits.layer
    same(trainer.tensors(), before)


def test_rows_beyond_the_precision_are_counted_around_a_batch_and_warned_of(data, split):
    data.x = 1000 * data.x
    with pytest.warns(PrecisionWarning, match="rows lie farther out than H4 resolves"):
        result = fit_minibatch(network(), data, split, TrainingSettings(epochs=1), batch_size=40, num_neighbors=3)
    assert result.capped_rows > 0


def test_workers_end_with_the_same_weights(data, split, tmp_path):
    """120 nodes in batches of 17: the last has one node, so that one worker has no share of it."""
    assert len(split.train) % 17 == 1
    started = [Worker(training_worker.share_batches, rank, tmp_path) for rank in (0, 1)]
    ended = [process.ended() for process in started]
    assert [code for _, _, code in ended] == [0, 0], ended[0][1]
    said = [out.splitlines() for out, _, _ in ended]
    assert said[0] == said[1]
    for neighbours in (3, -1):
        one, two = (torch.load(tmp_path / f"weights{neighbours}-{rank}.pt") for rank in (0, 1))
        same(one, two)
    with seeded(0):  # with all neighbours nothing is drawn, and two workers do what one does
        alone = KappaGCN(10, 2, "H2xS2")
    result = fit_minibatch(alone, data, split, TrainingSettings(epochs=5), batch_size=17, num_neighbors=-1)
    for a, b in zip(json.loads(said[0][-1]), result.history, strict=True):
        assert a["train_loss"] == pytest.approx(b["train_loss"], rel=1e-4)
    for name, t in alone.state_dict().items():
        assert torch.allclose(t, one[name], atol=1e-4), name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size: expected a whole number from 1, found 0"),
        ({"batch_size": 2.5}, "batch_size: expected a whole number from 1, found 2.5"),
        ({"num_neighbors": 0}, "num_neighbors: expected a number from 1, or -1 for all, .* found 0"),
        (
            {"num_neighbors": (10, -2)},
            r"num_neighbors: expected a number from 1, or -1 for all, .* found \(10, -2\)",
        ),
        ({"num_neighbors": (10,)}, "num_neighbors: expected 2 numbers, one for each product .* found 1"),
        ({"num_neighbors": "many"}, "num_neighbors: expected .* or one for each hop, found 'many'"),
        ({"num_neighbors": None}, "num_neighbors: expected .* or one for each hop, found None"),
        ({"inference_batch_size": 0}, "inference_batch_size: expected a whole number from 1, found 0"),
        ({"resume": True}, "resume: expected the folder"),
        ({"config": 3}, "config: expected a TrainingSettings, found int"),
    ],
)
def test_wrong_arguments(options, message, data, split):
    with pytest.raises(ConfigError, match=message):
        fit_minibatch(network(), data, split, **{"config": TrainingSettings(epochs=1), **options})


def test_attention_needs_all_neighbours(data, split):
    config = TrainingSettings(epochs=2)
    with pytest.raises(ConfigError, match="without attention, whose weights need all neighbours"):
        fit_minibatch(HGCN(10, 2, attention=True), data, split, config, num_neighbors=10)
    assert fit_minibatch(HGCN(10, 2, attention=True), data, split, config, num_neighbors=-1).epochs == 2
