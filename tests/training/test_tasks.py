"""Node classification as a task."""

import pytest
import torch

from kappagcn.errors import SplitError, TestNodesError
from kappagcn.graphs import Split
from kappagcn.training import (
    TrainingConfig,
    final_evaluation,
    fit,
)
from kappagcn.training.tasks import NodeClassification
from small_networks import network


def test_masks_make_a_split(data, split):
    masks = split.masks(200) | {"test_mask": torch.zeros(200, dtype=torch.bool)}
    data.update(masks)
    result = Split.from_masks(data)
    for part in ("train", "stopping", "validation"):
        assert torch.equal(getattr(result, part), getattr(split, part).sort().values)
    data.train_mask = data.train_mask[:10]
    with pytest.raises(SplitError, match="train_mask: expected booleans"):
        Split.from_masks(data)


def test_test_labels_are_never_seen_in_training(data, split):
    """With the labels of all test nodes wrong, training does not notice."""
    config = TrainingConfig(epochs=10)
    one = fit(network(), data, split, config)
    spoilt = data.clone()
    spoilt.y = data.y.clone()
    spoilt.y[split.final_test_nodes()] = 1 - data.y[split.final_test_nodes()]
    two = fit(model := network(), spoilt, split, config)
    assert one.history == two.history
    assert (NodeClassification(model, data, split).labels[split.final_test_nodes()] == -1).all()
    right, wrong = final_evaluation(model, data, split), final_evaluation(model, spoilt, split)
    assert right["accuracy"] == pytest.approx(1 - wrong["accuracy"])
    with pytest.raises(TestNodesError):
        _ = split.test
