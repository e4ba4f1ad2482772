"""Settings in files, and how features enter."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.errors import ConfigError
from kappagcn.estimators import Experiment, FeatureConfig, load_experiment, save_experiment
from kappagcn.graphs.datasets.benchmark import Benchmark
from kappagcn.nn.features import point_features
from kappagcn.training import TrainingConfig

SHORT = TrainingConfig(epochs=12, l2=0.0)


CURVED = Experiment(
    "disease", "kappa-gcn", {"space": "H3xS2", "dropout": 0.3}, FeatureConfig("columns", "tangent"), SHORT
)


experiments = st.builds(
    Experiment,
    st.sampled_from(["disease", "cora_ml"]),
    st.sampled_from(["kappa-gcn", "gcn", "hgcn", "mlp"]),
    st.dictionaries(
        st.text(min_size=1),
        st.one_of(st.integers(), st.booleans(), st.text(), st.floats(-1e9, 1e9), st.lists(st.text())),
    ),
    st.builds(
        FeatureConfig,
        st.sampled_from(["none", "rows", "lengths", "columns"]),
        st.sampled_from(["points", "tangent"]),
        st.floats(1e-6, 1e6),
    ),
    st.builds(TrainingConfig, st.integers(1, 10**6), st.integers(1, 10**6), st.floats(0, 1e3)),
)


@given(experiments)
def test_a_file_gives_back_what_was_saved(tmp_path_factory, experiment):
    path = tmp_path_factory.mktemp("config") / "a.toml"
    save_experiment(experiment, path)
    assert load_experiment(path) == experiment
    assert Experiment.from_record(json.loads(json.dumps(experiment.record()))) == experiment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dataset = 'disease'", "expected a dataset and a model"),
        ("dataset = 'disease'\nmodel = 'gat'", "model: expected kappa-gcn, gcn, hgcn, mlp, found 'gat'"),
        ("dataset = 'disease'\nmodel = 'gcn'\ncolour = 1", "found 'colour'"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[features]\nenter = 'door'", "features.enter: expected points, tangent"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[features]\nscale = -1", "features.scale: expected a number above 0"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[training]\nepoch = 3", "training: expected epochs"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[training]\nepochs = 0", "epochs: expected at least 1"),
        ("dataset = 'disease'\nmodel = 'gcn'\ntraining = 3", "training: expected a table"),
        ("dataset = 'disease'\nmodel = 'gcn'\noptions = 3", "options: expected a table"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[training]\nseed = 3", "training: expected epochs.*found 'seed'"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[features]\nscale = true", "features.scale: expected a number above 0"),
        ("dataset 'disease'", "expected TOML"),
    ],
)
def test_wrong_files_are_refused_in_words_that_name_them(tmp_path, text, words):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        load_experiment(path)
    assert "wrong.toml" in str(caught.value)


def test_a_missing_file_and_wrong_options_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="expected a TOML file"):
        load_experiment(tmp_path / "none.toml")
    for value in (None, float("inf"), {"a": 1}):
        with pytest.raises(ConfigError, match="expected settings that are words"):
            save_experiment(Experiment("disease", "gcn", {"a": value}), tmp_path / "a.toml")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        save_experiment(Experiment("disease", "gcn"), tmp_path / "file" / "a.toml")
    with pytest.raises(ConfigError, match="options: expected arguments of gcn"):
        Experiment("disease", "gcn", {"colour": 1}).build(10, 2)


def test_features_enter_as_the_settings_say():
    data = Benchmark("disease").data
    kept = data.x.clone()
    points = Experiment("disease", "kappa-gcn", {"space": "S4(2)"}, FeatureConfig("none", "points", 3.0)).prepare(data)
    torch.testing.assert_close(points.x, 3 * point_features(data.x, [2.0]))
    flat = Experiment("disease", "gcn", {}, FeatureConfig("none", "points")).prepare(data)
    torch.testing.assert_close(flat.x, data.x / (2 * data.x.norm(dim=1).max()))
    rows = Experiment("disease", "gcn", {}, FeatureConfig("rows", "tangent")).prepare(data)
    torch.testing.assert_close(rows.x.abs().sum(1), torch.ones(data.num_nodes))
    for x in (data.x, data.x.to_sparse_csr()):
        lengths = FeatureConfig("lengths").normalized(x)
        assert lengths.layout == x.layout
        torch.testing.assert_close(lengths.to_dense().norm(dim=1), torch.ones(data.num_nodes))
    torch.testing.assert_close(CURVED.prepare(data).x.std(0, correction=0), torch.ones(10))
    assert torch.equal(data.x, kept)
    assert Experiment("disease", "hgcn", {"curvature": -0.5}).kappas() == [-0.5]
    assert CURVED.kappas() == [-1.0, 1.0]
