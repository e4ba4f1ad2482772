"""Self-training: rounds in which new weights also learn predicted classes."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from kappagcn.classification.fitting import fit
from kappagcn.classification.minibatch import MiniBatch
from kappagcn.classification.parts import Partitioned
from kappagcn.classification.task import NodeClassification, SelfTraining
from kappagcn.distributed import Communicator
from kappagcn.errors import CheckpointError, ConfigError
from kappagcn.graphs import Split
from kappagcn.training.run import train
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer
from small_networks import network

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
