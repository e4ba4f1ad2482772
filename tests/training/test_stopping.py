"""When training stops."""

import torch

from kappagcn.classification.fitting import fit
from kappagcn.graphs import Split
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.stopping import EarlyStopping
from small_networks import network


def test_early_stopping_follows_the_appendix():
    rule = EarlyStopping(patience=3)
    numbers = [(1.0, 0.5), (0.8, 0.6), (0.9, 0.7), (0.85, 0.7), (0.82, 0.65), (0.7, 0.1)]
    kept = []
    for epoch, (loss, score) in enumerate(numbers, 1):
        if rule.update(epoch, loss, score):
            kept.append(epoch)
        if rule.is_over():
            break
    assert kept == [1, 2, 3, 4]  # epoch 4 has the score of 3 with a lower loss
    assert epoch == 5  # three epochs after the lowest loss, in epoch 2
    assert rule.best_epoch == 4


def test_a_new_start_has_full_patience_by_its_own_scores():
    """A score below the best of the first start still counts as progress of the second."""
    rule = EarlyStopping(patience=2, by_score=True)
    rule.update(1, 0.5, 0.9)
    rule.start_again(1)
    assert not rule.update(2, 0.7, 0.3)
    assert not rule.update(3, 0.8, 0.4)
    assert not rule.update(4, 0.8, 0.4)
    assert not rule.is_over()
    assert not rule.update(5, 0.8, 0.4)
    assert rule.is_over()
    assert (rule.best_epoch, rule.best_score) == (1, 0.9)


def test_patience_runs_out_at_evaluations_only():
    """With evaluations farther apart than the patience, the second one decides first."""
    rule = EarlyStopping(patience=3)
    rule.update(1, 0.9, 0.5)
    assert not rule.is_over()
    assert rule.update(9, 0.8, 0.6)
    assert not rule.is_over()
    rule.update(11, 0.85, 0.6)
    assert not rule.is_over()  # 2 epochs after the lowest loss
    rule.update(17, 0.85, 0.6)
    assert rule.is_over()


def test_patience_ends_a_run(data, split, monkeypatch):
    monkeypatch.setattr("kappagcn.training.trainer.RESTARTS", 0)  # a restart begins patience anew
    result = fit(network(), data, split, TrainingSettings(epochs=3000, patience=5, lr=0.1))
    assert result.stopped_by == "patience"
    losses = [r["stopping_loss"] for r in result.history]
    assert result.epochs - (losses.index(min(losses)) + 1) == 5


def test_without_stopping_nodes_the_training_loss_decides(data):
    nodes = torch.arange(200)
    split = Split(nodes[:150], [], [], nodes[150:])
    result = fit(network(dropout=0.0, adjacency_dropout=0.0, dropconnect=0.0), data, split, TrainingSettings(epochs=5))
    assert "validation_accuracy" not in result.history[0]
    assert result.epochs == 5
