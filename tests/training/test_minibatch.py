"""Mini-batches: exact with all neighbours, layer by layer too; training on them, alone and with several workers."""

import json
import os
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from kappagcn.errors import DivergedError, PrecisionWarning, TrainingError
from kappagcn.experiments import KappaGCNClassifier
from kappagcn.experiments.classifier import _split
from kappagcn.graphs import Split, disease, random_split
from kappagcn.models import GCN, HGCN, MLP, KappaGCN, NodeClassifier
from kappagcn.nn import SparseMatrix
from kappagcn.sparse import NeighbourSampler
from kappagcn.training import (
    MiniBatches,
    MiniBatchTrainer,
    TrainingConfig,
    final_evaluation,
    fit,
    fit_minibatch,
    layerwise,
    load_model,
    seeded,
)
from kappagcn.training.layerwise import steps, take_rows, through

MODELS = {
    "hyperbolic": lambda: KappaGCN(10, 2, "H4"),
    "product, three layers": lambda: KappaGCN(10, 2, "H2xS2xE2", layers=3, split_input=True),
    "a space for each layer": lambda: KappaGCN(10, 2, ["S3", "H4"], normalize="row", activation="tanh"),
    "without classes": lambda: KappaGCN(10, None, "S4"),
    "at the nodes": lambda: KappaGCN(10, 2, "H4", aggregation="tangential-node", normalize="row"),
    "Fréchet means": lambda: KappaGCN(10, 2, "H4", aggregation="frechet", double=True),
    "without loops": lambda: KappaGCN(10, 2, "H4", normalize="none"),
    "gcn": lambda: GCN(10, 2, layers=2),
    "hgcn": lambda: HGCN(10, 2, layers=2),
    "hgcn at nodes": lambda: HGCN(10, 2, layers=2, at_node=True),
    "hgcn with attention": lambda: HGCN(10, 2, layers=2, attention=True),
    "mlp": lambda: MLP(10, 2, layers=2),
}


@pytest.fixture
def data():
    data = disease(200)
    data.x = 0.1 * data.x
    return data


@pytest.fixture
def split(data):
    return random_split(data.y, 0)


def build(name):
    with seeded(0):
        model = MODELS[name]()
        for p in model.parameters():  # biases and points that start at 0 as well
            if p.dim():
                p.data += 0.1 * torch.randn_like(p)
    return model


def network(seed=0, **options):
    with seeded(seed):
        return KappaGCN(10, 2, "H4", **{"dropout": 0.3, "adjacency_dropout": 0.2, "dropconnect": 0.1, **options})


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


# Exact with all neighbours --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_with_all_neighbours_gives_scores_and_gradients_of_the_whole_graph(name, data):
    model = build(name).double()
    x, seeds = data.x.double(), torch.tensor([5, 0, 17, 199])
    hops = sum(step.aggregates for step in steps(model))
    want = model(x, data.edge_index)[seeds]
    weights = [p for p in model.parameters() if p.requires_grad]
    slopes = torch.autograd.grad(want.square().sum(), weights, allow_unused=True)
    found, nodes = None, seeds
    if hops:
        sample = NeighbourSampler(model.adjacency(x, data.edge_index), (-1,) * hops).sample(seeds)
        assert sample.blocks[-1].shape[0] == len(seeds)
        nodes, found = sample.nodes, through(model, x[sample.nodes], sample.blocks)
    else:
        found = through(model, x[nodes], [])
    assert torch.allclose(found, want, atol=1e-9)
    for one, other in zip(torch.autograd.grad(found.square().sum(), weights, allow_unused=True), slopes, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_layer_by_layer_gives_what_the_whole_forward_gives(name, kind, data):
    model = build(name).eval()
    x = data.x if kind == "dense" else data.x.to_sparse_csr()
    want = model(data.x, data.edge_index).detach()
    for batch_size in (7, 200, 4096):
        assert torch.allclose(layerwise(model, x, data.edge_index, batch_size=batch_size), want, atol=1e-6)
    nodes = torch.tensor([150, 3, 3, 0])
    assert torch.allclose(layerwise(model, x, data.edge_index, nodes=nodes, batch_size=3), want[nodes], atol=1e-6)


def test_layer_by_layer_is_in_evaluation_and_leaves_the_network_as_it_was(data):
    model = network()
    assert model.training
    found = layerwise(model, data.x, data.edge_index)
    assert model.training
    assert not found.requires_grad
    assert torch.allclose(found, model.eval()(data.x, data.edge_index), atol=1e-6)
    given = model.adjacency(data.x, data.edge_index)
    assert torch.allclose(layerwise(model, SparseMatrix.from_tensor(data.x), given), found, atol=1e-6)


@pytest.mark.parametrize("name", ["hyperbolic", "hgcn", "gcn"])
def test_nodes_that_are_new(name, data):
    model = build(name).eval()
    new = torch.tensor([200, 201])
    x = torch.cat([data.x, 0.1 * torch.rand(2, 10)])
    one_way = torch.tensor([[200, 200, 201, 200], [3, 50, 120, 201]])
    edges = torch.cat([data.edge_index, one_way, one_way.flip(0)], 1)
    want = model(x, edges)[new]
    assert torch.allclose(layerwise(model, x, edges, nodes=new), want, atol=1e-6)
    assert not torch.allclose(model(x, data.edge_index)[new], want, atol=1e-4)  # their edges count


def test_weights_of_edges_count(data):
    model, weight = build("hyperbolic").eval(), torch.rand(data.num_edges)
    want = model(data.x, data.edge_index, weight)
    assert torch.allclose(layerwise(model, data.x, data.edge_index, weight), want, atol=1e-6)


def test_only_what_the_nodes_need_is_looked_at(data):
    """Features that are NaN three hops away do not matter to a network of two."""
    model = build("hyperbolic").eval()
    near = torch.zeros(200, dtype=torch.bool)
    near[0] = True
    for _ in range(2):
        near[data.edge_index[1][near[data.edge_index[0]]]] = True
    assert not near.all()
    x = data.x.masked_fill(~near.unsqueeze(1), torch.nan)
    found = layerwise(model, x, data.edge_index, nodes=torch.tensor([0]))
    assert torch.allclose(found, model(data.x, data.edge_index)[:1], atol=1e-6)


# Training -------------------------------------------------------------------------------------------------------------


def test_with_one_batch_and_all_neighbours_training_is_that_of_the_whole_graph(data, split):
    off = {"dropout": 0.0, "adjacency_dropout": 0.0, "dropconnect": 0.0}
    config = TrainingConfig(epochs=8)
    whole = fit(one := network(**off).double(), data.update({"x": data.x.double()}), split, config)
    batched = fit_minibatch(other := network(**off).double(), data, split, config, batch_size=1000, neighbours=-1)
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
    result = fit_minibatch(model, data, split, TrainingConfig(epochs=25), batch_size=40, neighbours=4)
    assert result.history[-1]["train_loss"] < 0.85 * result.history[0]["train_loss"]
    assert final_evaluation(model, data, split)["accuracy"] > 0.6
    for p in model.parameters():
        assert torch.isfinite(p).all()


def test_an_epoch_goes_once_through_the_training_nodes_in_another_order_each_time(data, split):
    task = MiniBatches(network(), data, split, batch_size=50, neighbours=(3, 2))
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
    config = TrainingConfig(epochs=1, lr=0.0, curvature_lr=0.0)
    record = fit_minibatch(model, data, split, config, batch_size=32, neighbours=-1).history[0]
    want = nn.functional.cross_entropy(before[split.train], data.y[split.train])
    assert record["train_loss"] == pytest.approx(float(want), rel=1e-5)


def test_a_seed_gives_the_same_numbers_and_leaves_the_callers_random_state(data, split):
    config, batches = TrainingConfig(epochs=6, seed=3), {"batch_size": 30, "neighbours": (3, 2)}
    torch.manual_seed(5)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    one = fit_minibatch(first := network(), data, split, config, **batches)
    assert torch.equal(torch.rand(3), drawn)
    two = fit_minibatch(second := network(), data, split, config, **batches)
    assert one.history == two.history
    same(dict(first.state_dict()), dict(second.state_dict()))
    assert fit_minibatch(network(), data, split, TrainingConfig(epochs=6), **batches).history != one.history


def test_a_resumed_run_ends_in_the_same_bits(data, split, tmp_path):
    config, batches = TrainingConfig(epochs=9, seed=1), {"batch_size": 30, "neighbours": 3}
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

    config = TrainingConfig(epochs=500, patience=4, lr=0.1)
    result = fit_minibatch(model, data, split, config, batch_size=40, neighbours=5, callbacks=[watch])
    assert result.stopped_by == "patience"
    same(dict(model.state_dict()), seen[result.best_epoch])
    scores = layerwise(model, data.x, data.edge_index)[split.stopping]
    accuracy = float((scores.argmax(1) == data.y[split.stopping]).double().mean())
    assert result.best["stopping_accuracy"] == pytest.approx(accuracy)  # from all neighbours


def test_labels_of_test_nodes_are_never_seen(data, split):
    config, batches = TrainingConfig(epochs=4), {"batch_size": 30, "neighbours": 3}
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
        network(), data, Split(nodes[:150], [], [], nodes[150:]), TrainingConfig(epochs=2), batch_size=64
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
    task = MiniBatches(model, data, split, batch_size=40, neighbours=3)  # three batches in an epoch
    trainer = MiniBatchTrainer(model, task, TrainingConfig())
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
    with pytest.warns(PrecisionWarning, match="rows around one batch lie farther out than H4 resolves"):
        result = fit_minibatch(network(), data, split, TrainingConfig(epochs=1), batch_size=40, neighbours=3)
    assert result.capped_rows > 0


# Several workers ------------------------------------------------------------------------------------------------------

WORKER = """
import json, sys, torch
from torch import distributed
from kappagcn.graphs import disease, random_split
from kappagcn.models import KappaGCN
from kappagcn.training import TrainingConfig, fit_minibatch, seeded
torch.set_num_threads(1)
rank, folder = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
data = disease(200)
data.x = 0.1 * data.x
for neighbours, p in ((3, 0.3), (-1, 0.0)):
    with seeded(rank):  # other weights at first: those of worker 0 count
        model = KappaGCN(10, 2, "H2xS2", dropout=p, adjacency_dropout=p, dropconnect=p)
    result = fit_minibatch(model, data, random_split(data.y, 0), TrainingConfig(epochs=5), batch_size=17,
                           neighbours=neighbours, group=distributed.group.WORLD, folder=f"{folder}/run{neighbours}")
    torch.save(model.state_dict(), f"{folder}/weights{neighbours}-{rank}.pt")
    print(json.dumps(result.history))
"""


def test_workers_end_with_the_same_weights(data, split, tmp_path):
    """120 nodes in batches of 17: the last has one node, so that one worker has no share of it."""
    assert len(split.train) % 17 == 1
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for rank in (0, 1)
    ]
    said = [process.communicate(timeout=100)[0].splitlines() for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert said[0] == said[1]
    for neighbours in (3, -1):
        one, two = (torch.load(tmp_path / f"weights{neighbours}-{rank}.pt") for rank in (0, 1))
        same(one, two)
    with seeded(0):  # with all neighbours nothing is drawn, and two workers do what one does
        alone = KappaGCN(10, 2, "H2xS2")
    result = fit_minibatch(alone, data, split, TrainingConfig(epochs=5), batch_size=17, neighbours=-1)
    for a, b in zip(json.loads(said[0][-1]), result.history, strict=True):
        assert a["train_loss"] == pytest.approx(b["train_loss"], rel=1e-4)
    for name, t in alone.state_dict().items():
        assert torch.allclose(t, one[name], atol=1e-4), name


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size: expected a whole number of nodes from 1, found 0"),
        ({"batch_size": 2.5}, "batch_size: expected a whole number of nodes from 1, found 2.5"),
        ({"neighbours": 0}, "neighbours: expected numbers from 1, or -1 for all, found 0"),
        ({"neighbours": (10, -2)}, r"neighbours: expected numbers from 1, or -1 for all, found \(10, -2\)"),
        ({"neighbours": (10,)}, "neighbours: expected 2 numbers, one for each product .* found 1"),
        ({"neighbours": "many"}, "neighbours: expected a whole number, or one for each hop, found 'many'"),
        ({"neighbours": None}, "neighbours: expected a whole number, or one for each hop, found None"),
        ({"inference_batch_size": 0}, "batch_size: expected a whole number of nodes from 1, found 0"),
        ({"resume": True}, "resume: expected the folder"),
        ({"config": 3}, "config: expected a TrainingConfig, found int"),
    ],
)
def test_wrong_arguments(options, message, data, split):
    with pytest.raises(TrainingError, match=message):
        fit_minibatch(network(), data, split, **{"config": TrainingConfig(epochs=1), **options})


def test_attention_needs_all_neighbours(data, split):
    config = TrainingConfig(epochs=2)
    with pytest.raises(TrainingError, match="without attention, whose shares need all neighbours"):
        fit_minibatch(HGCN(10, 2, attention=True), data, split, config, neighbours=10)
    assert fit_minibatch(HGCN(10, 2, attention=True), data, split, config, neighbours=-1).epochs == 2


def test_other_wrong_input(data, split):
    class Own(NodeClassifier):
        pass

    own = Own({}, dropout=0.0, input_dropout=0.0, activation="relu")
    with pytest.raises(TrainingError, match="expected KappaGCN, GCN, HGCN or MLP to take step by step, found Own"):
        layerwise(own, data.x, data.edge_index)
    with pytest.raises(TrainingError, match=r"blocks: expected 2, .* found 0"):
        through(network(), data.x, [])
    with pytest.raises(TrainingError, match="batch_size"):
        layerwise(network(), data.x, data.edge_index, batch_size=0)
    with pytest.raises(TrainingError, match="nodes: expected 0 to 199, found 3 to 200"):
        layerwise(network(), data.x, data.edge_index, nodes=torch.tensor([3, 200]))
    with pytest.raises(TrainingError, match="nodes: expected numbers of nodes"):
        layerwise(network(), data.x, data.edge_index, nodes=[3])
    with pytest.raises(TrainingError, match="expected a batch to be at hand"):
        MiniBatches(network(), data, split).loss()
    with pytest.raises(TrainingError, match="expected features"):
        fit_minibatch(network(), Data(edge_index=data.edge_index, y=data.y), split)
    assert torch.equal(take_rows(data.x, torch.tensor([3])), data.x[3:4])


# The classifier -------------------------------------------------------------------------------------------------------


def test_the_classifier_on_batches(tmp_path):
    data = disease(300)
    options = {"epochs": 15, "progress": False, "seed": 1}
    classifier = KappaGCNClassifier("H4", batch_size=60, neighbours=(4, 3), **options).fit(data)
    again = KappaGCNClassifier("H4", batch_size=60, neighbours=[4, 3], **options).fit(data)
    whole = KappaGCNClassifier("H4", **options).fit(data)
    assert classifier.history_ == again.history_ != whole.history_
    assert (classifier.predict_proba().argmax(1) == data.y.numpy()).mean() > 0.6
    with torch.no_grad():
        model = classifier.model_.eval()
        want = model(classifier._data.x, data.edge_index).softmax(1)
    assert torch.allclose(torch.from_numpy(classifier.predict_proba()), want, atol=1e-6)
    loaded = KappaGCNClassifier.load(classifier.save(tmp_path / "saved"))
    assert torch.allclose(torch.from_numpy(loaded.predict_proba(data)), want, atol=1e-6)
    assert loaded.batch_size == 60
    assert list(loaded.neighbours) == [4, 3]


def test_by_default_the_classifier_trains_on_the_whole_graph():
    data = disease(200)
    classifier = KappaGCNClassifier("H4", epochs=3, progress=False).fit(data)
    with seeded(0):
        model = classifier._experiment.build(10, 2)
    result = fit(model, classifier._data, _split(classifier._data, 0), classifier._experiment.training)
    assert result.history == classifier.history_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size: expected a whole number of nodes from 1"),
        ({"batch_size": "some"}, "batch_size: expected a whole number of nodes from 1, found 'some'"),
        ({"batch_size": 10, "neighbours": (10, 10), "layers": 2}, "neighbours: expected 3 numbers"),
        ({"neighbours": 0}, "neighbours: expected numbers from 1"),
    ],
)
def test_the_classifier_refuses(options, message):
    with pytest.raises(TrainingError, match=message):
        KappaGCNClassifier("H4", progress=False, **options).check()
    with pytest.raises(TrainingError, match=message):
        KappaGCNClassifier("H4", progress=False, **options).fit(disease(100))
