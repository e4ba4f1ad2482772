"""Node classification as a task."""

import pytest
import torch

from kappagcn.classification.evaluation import final_evaluation
from kappagcn.classification.fitting import fit
from kappagcn.classification.task import NodeClassification
from kappagcn.errors import GraphError
from kappagcn.graphs import Split
from kappagcn.models import APPNP, GCN, HGCN, MLP, KappaGCN, NodeClassifier
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
