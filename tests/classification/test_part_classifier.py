"""The classifier on parts of a graph: its numbers are those of memory, and what it writes."""

import json

import numpy as np
import pytest

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.evaluation import final_evaluation
from kappagcn.classification.part_classifier import classify_parts
from kappagcn.errors import ConfigError
from kappagcn.graphs import TEST_SEEDS, disease, random_split
from kappagcn.training.node_columns import NodeColumns, part_stream
from kappagcn.training.part_writing import write_parts


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    data = disease(80)
    return write_parts(part_stream(data), NodeColumns.of_data(data), tmp_path_factory.mktemp("parts") / "d", 2)


def classifier(**options):
    return KappaGCNClassifier("H4", epochs=4, verbose=False, **{"self_features": "off", **options})


def test_the_numbers_of_memory(parts, tmp_path):
    summary = classify_parts(classifier(), parts, tmp_path / "run")
    data = disease(80)
    split = random_split(data.y, TEST_SEEDS[0])
    alone = classifier().fit_split(data, data.y.numpy(), split)
    losses = [[record["train_loss"] for record in each] for each in (summary["history"], alone.history_)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    expected = final_evaluation(alone.model_, alone._data, split)
    assert summary["loss"] == pytest.approx(expected["loss"], rel=1e-3)
    assert summary["accuracy"] == pytest.approx(expected["accuracy"], abs=0.07)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["parts"] == 2
    nodes = [np.load(tmp_path / "run" / "predictions" / f"part-{part}.npz")["nodes"] for part in range(2)]
    assert sorted(np.concatenate(nodes)) == list(range(80))
    loaded = KappaGCNClassifier.load(tmp_path / "run" / "model.safetensors")
    np.testing.assert_allclose(loaded.predict_proba(data), alone.predict_proba(), atol=1e-2)


@pytest.mark.parametrize("options", [{"batch_size": 10}, {"feature_map": "points"}, {"device": "auto"}])
def test_what_needs_the_whole_graph_is_refused(parts, tmp_path, options):
    with pytest.raises(ConfigError, match="expected"):
        classify_parts(classifier(**options), parts, tmp_path / "run")
