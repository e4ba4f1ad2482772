"""Node classification as a task, and self-training."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from kappagcn.classification.evaluation import final_evaluation
from kappagcn.classification.fitting import fit
from kappagcn.classification.minibatch import MiniBatch
from kappagcn.classification.parts import Partitioned
from kappagcn.classification.task import NodeClassification, SelfTraining
from kappagcn.distributed import Communicator
from kappagcn.errors import CheckpointError, ConfigError, GraphError
from kappagcn.graphs import Split
from kappagcn.models import APPNP, GCN, HGCN, MLP, KappaGCN, NodeClassifier
from kappagcn.training.run import train
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer, seeded
from small_networks import network


def test_masks_make_a_split(data, split):
    masks = split.masks(200) | {"test_mask": torch.zeros(200, dtype=torch.bool)}
    data.update(masks)
    result = Split.from_masks(data)
    for part in ("train", "stopping", "validation"):
        assert torch.equal(getattr(result, part), getattr(split, part).sort().values)
    data.train_mask = data.train_mask[:10]
    with pytest.raises(GraphError, match="train_mask: expected booleans"):
        Split.from_masks(data)


def test_test_labels_are_never_seen_in_training(data, split):
    """With the labels of all test nodes wrong, training does not notice."""
    config = TrainingSettings(epochs=10)
    one = fit(network(), data, split, config)
    spoilt = data.clone()
    spoilt.y = data.y.clone()
    spoilt.y[split.final_test_nodes()] = 1 - data.y[split.final_test_nodes()]
    two = fit(model := network(), spoilt, split, config)
    assert one.history == two.history
    assert (NodeClassification(model, data, split).labels[split.final_test_nodes()] == -1).all()
    right, wrong = final_evaluation(model, data, split), final_evaluation(model, spoilt, split)
    assert right["accuracy"] == pytest.approx(1 - wrong["accuracy"])
    with pytest.raises(GraphError):
        _ = split.test


def trained(model, data, split, epochs, **config):
    """The trainer after some epochs, their metrics, and the number of forward passes in each."""
    trainer = Trainer(model, NodeClassification(model, data, split), TrainingSettings(epochs=50, **config))
    passes, history, counts = [], [], []
    handle = model.register_forward_hook(lambda *_: passes.append(1))
    for _ in range(epochs):
        before = len(passes)
        history.append(trainer.run_epoch())
        counts.append(len(passes) - before)
    handle.remove()
    return trainer, history, counts


NO_DROPOUT = {"dropout": 0.0, "adjacency_dropout": 0.0, "dropconnect": 0.0}
NETWORKS = {
    "kappa-gcn": lambda: network("H2xS2", **NO_DROPOUT),
    "in units of rows": lambda: network("H2xS2", relative=True, **NO_DROPOUT),
    "kappa-appnp": lambda: APPNP(10, 2, "H4"),
    "gcn": lambda: GCN(10, 2, 4),
    "hgcn": lambda: HGCN(10, 2, 4),
    "mlp": lambda: MLP(10, 2, 4),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_without_dropout_an_epoch_is_one_forward_pass_to_the_same_numbers(name, data, split, monkeypatch):
    trainer, history, counts = trained(seeded_network(NETWORKS[name]), data, split, 6)
    assert counts == [2, 1, 1, 1, 1, 1]
    monkeypatch.setattr(NodeClassifier, "is_same_in_training", False)
    twice, expected, counts = trained(seeded_network(NETWORKS[name]), data, split, 6)
    assert counts == [2] * 6
    for one, other in zip(history, expected, strict=True):
        assert one.keys() == other.keys()
        assert all(one[key] == pytest.approx(other[key], rel=1e-5, abs=1e-6) for key in one)
    assert trainer.stopping.best_epoch == twice.stopping.best_epoch
    for key, best in trainer.best.items():
        torch.testing.assert_close(best, twice.best[key], rtol=1e-4, atol=1e-5)


def seeded_network(make):
    with seeded(0):
        return make()


@pytest.mark.parametrize("drops", ["dropout", "input_dropout", "dropconnect", "adjacency_dropout"])
def test_what_differs_in_training_is_computed_twice(drops, data, split):
    assert trained(network(**{**NO_DROPOUT, drops: 0.3}), data, split, 3)[2] == [2, 2, 2]


def test_a_forward_of_ones_own_may_differ_in_training():
    class Noisy(KappaGCN):
        def forward(self, x, edge_index, edge_weight=None):
            return super().forward(x, edge_index, edge_weight) + self.training

    assert KappaGCN(10, 2, "H4").is_same_in_training
    assert not Noisy(10, 2, "H4").is_same_in_training
    assert not APPNP(10, 2, "H4", adjacency_dropout=0.1).is_same_in_training


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_are_those_of_the_weights_that_take_the_step(name, data, split):
    """Not kept from before weights were loaded, or drawn anew, which PyG does without torch's notice."""
    trainer, _, _ = trained(seeded_network(NETWORKS[name]), data, split, 3)
    other = NETWORKS[name]()
    trainer.model.load_state_dict(other.state_dict())
    task = NodeClassification(other, data, split)
    assert trainer.task.loss().item() == pytest.approx(task.loss().item(), rel=1e-5)
    trainer.run_epoch()
    trainer._renew_weights()
    fresh = trainer.model(trainer.task.x, trainer.task.adjacency)[split.train]
    wanted = torch.nn.functional.cross_entropy(fresh, data.y[split.train])
    assert trainer.task.loss().item() == pytest.approx(wanted.item(), rel=1e-5)


def test_a_resumed_run_continues_to_the_same_numbers_without_kept_scores(data, split):
    whole, history, _ = trained(network(**NO_DROPOUT), data, split, 6)
    stopped, _, _ = trained(network(**NO_DROPOUT), data, split, 3)
    resumed = Trainer(network(seed=9, **NO_DROPOUT), stopped.task, stopped.config)
    resumed.task = NodeClassification(resumed.model, data, split)
    resumed.load(stopped.tensors(), stopped.about())
    for expected in history[3:]:
        record = resumed.run_epoch()
        assert all(record[key] == pytest.approx(expected[key], rel=1e-5, abs=1e-6) for key in expected)
    assert resumed.stopping.best_epoch == whole.stopping.best_epoch


CONFIG = TrainingSettings(epochs=200, patience=4, lr=0.1, self_training=2)


NOTHING_DROPPED = {"dropout": 0.0, "adjacency_dropout": 0.0, "dropconnect": 0.0}


def trainer(data, split, config=CONFIG, **options):
    model = network(**options)
    return Trainer(model, SelfTraining(model, data, split), config, regularised=model.first_layer())


def test_every_round_starts_from_new_weights_and_the_best_of_all_are_kept(data, split):
    mine = trainer(data, split)
    before = mine.named["hidden.0.lin.weight"].detach().clone()
    rounds, history = [0], []
    while not mine.is_over():
        history.append(mine.run_epoch())
        assert history[-1]["round"] == rounds[-1]
        rounds.append(mine.rounds)
        if rounds[-1] > rounds[-2]:
            after = mine.named["hidden.0.lin.weight"].detach()
            assert not torch.allclose(after, before)
            assert not torch.equal(after, mine.best["hidden.0.lin.weight"])
            assert not mine.adam.state
    assert rounds[-1] == 2
    assert sorted(set(rounds)) == [0, 1, 2]
    assert [record["epoch"] for record in history] == list(range(1, len(history) + 1))
    best = max(history, key=lambda record: (record["stopping_probability"], -record["stopping_loss"]))
    assert mine.stopping.best_epoch == best["epoch"]


def test_the_first_round_is_training_without_self_training(data, split):
    plain, options = network(), {"epochs": 200, "patience": 4, "lr": 0.1}
    task = NodeClassification(plain, data, split)
    first = train(Trainer(plain, task, TrainingSettings(**options), regularised=plain.first_layer()))
    history = train(trainer(data, split))
    assert len(history) > len(first)
    assert history[: len(first)] == [{**record, "round": 0} for record in first]


def test_the_loss_has_the_sharpened_predictions_of_nodes_that_neither_train_nor_stop(data, split):
    model = network(**NOTHING_DROPPED)
    task = SelfTraining(model, data, split)
    scores = model(data.x, data.edge_index).detach()
    labelled = cross_entropy(scores[split.train], data.y[split.train])
    assert float(task.loss().detach()) == pytest.approx(float(labelled), rel=1e-5)
    task.learn_predictions()
    others = torch.ones(200, dtype=torch.bool)
    others[torch.cat([split.train, split.stopping])] = False
    squared = scores[others].softmax(1).square()
    learned = -(squared / squared.sum(1, keepdim=True) * scores[others].log_softmax(1)).sum(1).mean()
    assert float(task.loss().detach()) == pytest.approx(float(labelled + learned), rel=1e-5)


def test_labels_of_other_nodes_are_not_used(data, split):
    """Nor those of validation nodes, which training code can see."""
    mine = trainer(data, split)
    train(mine)
    changed = data.clone()
    others = torch.cat([split.validation, split.final_test_nodes()])
    changed.y[others] = 1 - changed.y[others]
    other = trainer(changed, split)
    train(other)
    assert all(torch.equal(other.best[name], tensor) for name, tensor in mine.best.items())


@pytest.mark.parametrize("options", [{}, NOTHING_DROPPED], ids=["dropout", "none"])
def test_a_run_is_resumed_in_any_round_to_the_same_numbers(data, split, options):
    history = train(trainer(data, split, **options))
    for left in (3, len(history) - 3):
        first = trainer(data, split, **options)
        for _ in range(len(history) - left):
            first.run_epoch()
        second = trainer(data, split, **options)
        second.load(first.tensors(), first.about())
        assert train(second) == history[-left:]
        assert second.rounds == 2


def test_a_run_folder_with_other_rounds_is_not_resumed(data, split, tmp_path):
    fit(network(), data, split, CONFIG, folder=tmp_path / "run")
    with pytest.raises(CheckpointError, match="self_training"):
        fit(network(), data, split, replace(CONFIG, self_training=1), folder=tmp_path / "run", resume=True)


def test_rounds_count_as_epochs(data, split):
    mine = trainer(data, split, TrainingSettings(epochs=3, patience=2, lr=0.1, self_training=2))
    assert len(train(mine)) == 3


@pytest.mark.parametrize("strategy", [MiniBatch(50), Partitioned(Communicator())], ids=["batches", "parts"])
def test_other_strategies_refuse_it(data, split, strategy):
    with pytest.raises(ConfigError, match="self_training: expected training on the whole graph in one process"):
        fit(network(), data, split, CONFIG, strategy=strategy)


def test_a_graph_whose_nodes_all_train_or_stop_is_refused(data):
    nodes = torch.arange(200)
    with pytest.raises(ConfigError, match="expected nodes that neither train nor stop"):
        fit(network(), data, Split(nodes[:150], nodes[150:], [], []), CONFIG)
