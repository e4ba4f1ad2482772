"""`fit` learns, warns, and resumes only its own runs."""

import pytest
import torch

from kappagcn.classification.evaluation import final_evaluation
from kappagcn.classification.fitting import fit
from kappagcn.errors import CheckpointError, PrecisionWarning
from kappagcn.graphs import random_split
from kappagcn.models import GCN, HGCN, MLP
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
