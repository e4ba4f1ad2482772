"""Settings in files, and how features enter."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.paper import Experiment, load_settings, save_settings

CURVED = Experiment(
    "disease",
    "kappa-gcn",
    ClassificationSettings("H3xS2", feature_norm="columns", dropout=0.3, l2=0.0, self_features="off", epochs=12),
)


experiments = st.builds(
    Experiment,
    st.sampled_from(["disease", "cora_ml"]),
    st.sampled_from(["kappa-gcn", "gcn", "hgcn", "mlp"]),
    st.builds(
        ClassificationSettings,
        st.text(min_size=1).filter(lambda space: space != "auto"),
        feature_norm=st.sampled_from(["none", "rows", "lengths", "columns"]),
        feature_map=st.sampled_from(["points", "tangent"]),
        feature_scale=st.floats(1e-6, 1e6),
        split_input=st.booleans(),
        dropout=st.floats(0, 0.99),
        self_features=st.sampled_from(["on", "off"]),
        l2=st.floats(0, 1e3),
        epochs=st.integers(1, 10**6),
        patience=st.integers(1, 10**6),
    ),
)


@given(experiments)
def test_a_file_gives_back_what_was_saved(tmp_path_factory, experiment):
    path = tmp_path_factory.mktemp("config") / "a.toml"
    table = {f"{experiment.dataset}/gcn": experiment, "disease/H3xS2": CURVED}
    save_settings(table, path)
    assert load_settings(path) == table
    assert Experiment.from_record(json.loads(json.dumps(experiment.record()))) == experiment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dataset = 'disease'", "expected a dataset and a model"),
        ("dataset = 'disease'\nmodel = 'gat'", "model: expected kappa-gcn, appnp, gcn, hgcn, mlp, found 'gat'"),
        ("dataset = 'disease'\nmodel = 'gcn'\ncolour = 1", "found 'colour'"),
        ("dataset = 'disease'\nmodel = 'gcn'\nfeature_map = 'door'", "feature_map: expected tangent, points"),
        ("dataset = 'disease'\nmodel = 'gcn'\nfeature_scale = -1", "feature_scale: expected a number in"),
        ("dataset = 'disease'\nmodel = 'gcn'\nepochs = 0", "epochs: expected a whole number in"),
        ("dataset = 'disease'\nmodel = 'gcn'\nepochs = [3]", "epochs: expected a whole number in"),
        ("dataset = 'disease'\nmodel = 'gcn'\nrandom_state = 3", "found 'random_state'"),
        ("dataset = 'disease'\nmodel = 'gcn'\nfeature_scale = true", "feature_scale: expected a number in"),
        ("dataset = 'disease'\nmodel = 'gcn'\nfeature_norm = 'auto'", "feature_norm: expected a value"),
        ("dataset 'disease'", "expected TOML"),
        ("[colours]", "expected tables common and cells, found 'colours'"),
    ],
)
def test_wrong_files_are_refused_in_words_that_name_them(tmp_path, text, words):
    path = tmp_path / "wrong.toml"
    path.write_text(f"[cells.a]\n{text}")
    with pytest.raises(ConfigError, match=words) as caught:
        load_settings(path)
    assert "wrong.toml" in str(caught.value)


def test_a_missing_file_and_one_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="expected a TOML file"):
        load_settings(tmp_path / "none.toml")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        save_settings({"disease/gcn": Experiment("disease", "gcn")}, tmp_path / "file" / "a.toml")
