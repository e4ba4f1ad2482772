"""One definition of every setting: what is made from the fields, and what a new field brings with it."""

import inspect
import json
import math
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

import kappagcn
from kappagcn import GraphEmbedder, KappaGCNClassifier, KappaGCNLinkPredictor
from kappagcn.classification.network import build_network, network_options
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.embedding.settings import EmbeddingSettings
from kappagcn.errors import ConfigError
from kappagcn.links.network import build_link_predictor, resolved_links
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.training.setting_field import GIVEN, check_count, description, flag_of, idle_reason, settings_table
from kappagcn.training.settings import TrainingSettings, as_settings, read_toml
from workers import Worker, execute

KINDS = {
    GraphEmbedder: EmbeddingSettings,
    KappaGCNClassifier: ClassificationSettings,
    KappaGCNLinkPredictor: LinkPredictionSettings,
}
OTHER = {  # a value of each setting that is not its default
    "dim": 3, "hidden_channels": 3, "act": "relu", "num_layers": 2, "feature_norm": "rows", "curvature_lr": 0.5,
    "num_neighbors": 3, "output": "paper", "self_features": "on", "propagation_steps": 3, "alpha": 0.5,
    "split_input": True, "adjacency_norm": "none", "adjacency_dropout": 0.5, "inputs": "identity", "dropout": 0.25,
    "train_decoder": False, "input_dropout": 0.25, "folds": 2, "dropconnect": 0.25, "edge_weights": "raw",
    "intervals": True,
}  # fmt: skip


def idle_cases():
    """Each setting with each choice of another one that it does not serve."""
    cases = []
    for estimator, kind in KINDS.items():
        choices = {field.name: field.metadata["choices"] for field in fields(kind)}
        for field in fields(kind):
            for name, values in field.metadata["only"].items():
                tried = {"space": ["H2"], "batch_size": [None] if values == GIVEN else [8]}
                tried |= (
                    {name: [choice for choice in choices[name] if choice not in values]} if choices.get(name) else {}
                )
                for value in tried.get(name, []):
                    case = f"{estimator.__name__}-{name}-{value}-{field.name}"
                    options = {name: value, field.name: OTHER[field.name]}
                    cases.append(pytest.param(estimator, options, field, id=case))
    return cases


@pytest.mark.parametrize(("estimator", "kind"), KINDS.items())
def test_arguments_and_docstring_are_those_of_the_fields(estimator, kind):
    parameters = inspect.signature(estimator).parameters
    assert list(parameters) == [each.name for each in fields(kind)]
    assert all(parameters[each.name].default == each.default for each in fields(kind))
    for each in fields(kind):
        assert f"{each.name}: {each.metadata['help']}" in estimator.__doc__
        assert f"| `{each.name}` |" in settings_table(kind)
        assert each.metadata["help"].endswith(".")
    kind().check()


@pytest.mark.parametrize(
    ("options", "words"),
    [({"epochs": 0}, "epochs: expected a whole"), ({"lr": math.nan}, "lr: expected"), ({"l2": -1.0}, "l2: expected"),
     ({"patience": -3}, "patience: expected"), ({"random_state": -1}, "random_state: expected"),
     ({"decay": "linear"}, "decay: expected none, cosine, found 'linear'")],
)  # fmt: skip
def test_settings_of_a_trainer_are_checked_when_they_are_made(options, words):
    with pytest.raises(ConfigError, match=words):
        TrainingSettings(**options)


def test_a_trainer_reads_what_it_shares_with_the_settings_of_a_task():
    training = LinkPredictionSettings("H2", l2=0.5, epochs=3).training(random_state=7)
    assert (training.l2, training.epochs, training.random_state, training.lr) == (0.5, 3, 7, 0.02)
    with pytest.raises(ConfigError, match="l2: expected a number"):
        ClassificationSettings().training()


def test_text_of_the_command_line_becomes_settings():
    values = {"seed": 3, "num_neighbors": "10,5", "batch_size": 8, "dropout": "0.5", "l2": "auto", "space": "H2"}
    settings = as_settings(ClassificationSettings, values)
    assert (settings.random_state, settings.num_neighbors) == (3, [10, 5])
    assert (settings.dropout, settings.l2, settings.space) == (0.5, "auto", "H2")
    assert as_settings(EmbeddingSettings, {"sources": "7"}).sources == 7


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"colour": 1}, "found 'colour'"),
        ({"dropout": "much"}, "--dropout: expected a number or auto, found 'much'"),
        ({"dropout": "1.0"}, r"dropout: expected a number in \[0, 1\) or \"auto\", found 1.0"),
        ({"feature_scale": float("inf")}, "feature_scale: expected a number in"),
        ({"epochs": 2.5}, "epochs: expected a whole number in"),
        ({"epochs": True}, "epochs: expected a whole number in"),
        ({"split_input": 1}, "split_input: expected True or False"),
        ({"space": 3}, "space: expected a word"),
        ({"feature_norm": "some"}, "feature_norm: expected auto, rows, lengths, columns, none, found 'some'"),
        ({"num_neighbors": "a"}, "--num-neighbors: expected a number, or some separated by commas"),
        ({"seed": 2**32}, "random_state: expected a whole number in"),
    ],
)
def test_values_that_a_field_does_not_allow_are_named(values, words):
    with pytest.raises(ConfigError, match=words):
        as_settings(ClassificationSettings, values)


@pytest.mark.parametrize(("estimator", "values", "field"), idle_cases())
def test_a_setting_that_the_choices_do_not_use_is_refused(estimator, values, field):
    with pytest.raises(ConfigError, match=f"^{field.name}: expected its default .* does not use it, found"):
        estimator(**values).check()
    flags = {flag_of(each): values[each.name] for each in fields(KINDS[estimator]) if each.name in values}
    with pytest.raises(ConfigError, match=f"^{field.name}: expected its default"):
        as_settings(KINDS[estimator], flags)
    estimator(**estimator(**values).changed()).check()


@pytest.mark.parametrize("model", ["kappa-gcn", "appnp", "gcn", "hgcn", "mlp"])
def test_the_settings_of_a_network_are_those_that_its_options_have(model):
    plain = ClassificationSettings("H2xS2", model=model, dropout=0.0, input_dropout=0.0)
    trained = any(curvature.trainable for curvature in build_network(plain, 4, 2).curvatures())
    for field in fields(ClassificationSettings):
        if field.name in ("feature_norm", "edge_weights", "num_neighbors", "intervals") or field.name not in OTHER:
            continue
        changed = ClassificationSettings(**{**vars(plain), field.name: OTHER[field.name]})
        used = trained if field.name == "curvature_lr" else network_options(changed) != network_options(plain)
        assert used == (idle_reason(field, changed) is None), field.name


@pytest.mark.parametrize("model", ["kappa-gcn", "gcn", "hgcn", "mlp", "free"])
@pytest.mark.parametrize("decoder", ["fermi-dirac", "dot"])
def test_the_settings_of_a_link_predictor_are_those_that_its_options_have(model, decoder):
    plain = LinkPredictionSettings("H2", model=model, decoder=decoder)

    def built(settings):
        made = build_link_predictor(resolved_links(settings, None), 4, 4)
        return [getattr(made.encoder, "options", None), {k: v.requires_grad for k, v in made.named_parameters()}]

    for name in ("num_layers", "adjacency_norm", "dropout", "input_dropout", "train_decoder"):
        changed = LinkPredictionSettings(**{**vars(plain), name: OTHER[name]})
        field = next(each for each in fields(changed) if each.name == name)
        assert (built(changed) != built(plain)) == (idle_reason(field, changed) is None), name


LINE = '    dummy: float = setting(0.25, "A setting that a test adds.", range="[0, 1]")\n'
SHOW = """
import inspect, json, sys
sys.path.insert(0, sys.argv[1])
for name in [name for name in sys.modules if name.partition(".")[0] == "kappagcn"]:
    del sys.modules[name]
from typer.testing import CliRunner
from kappagcn import KappaGCNClassifier
from kappagcn.cli import app
from kappagcn.training.setting_field import settings_table
from kappagcn.classification.settings import ClassificationSettings
commands = [["--help"], ["--set", "dummy=0.5", "--dry-run"], ["--config", sys.argv[2], "--dry-run"]]
print(json.dumps({
    "commands": [CliRunner().invoke(app, ["classify", "disease", *words]).stdout for words in commands],
    "argument": str(inspect.signature(KappaGCNClassifier).parameters["dummy"]),
    "docstring": KappaGCNClassifier.__doc__,
    "table": [line for line in settings_table(ClassificationSettings).splitlines() if "dummy" in line],
}))
"""


def test_a_new_setting_is_one_line_in_one_file(tmp_path):
    """It is in the help, the estimator's signature and docstring, the dry run, TOML files and the docs' table."""
    shutil.copytree(Path(kappagcn.__file__).parent, tmp_path / "kappagcn", ignore=shutil.ignore_patterns("*.nb?"))
    path = tmp_path / "kappagcn" / "classification" / "settings.py"
    text = path.read_text()
    mark = "class ClassificationSettings(NetworkSettings):"
    start = text.index("    output", text.index(mark))
    path.write_text(text[:start] + LINE + text[start:])
    (tmp_path / "mine.toml").write_text("dummy = 0.75\n")

    worker = Worker(execute, SHOW, str(tmp_path), str(tmp_path / "mine.toml"), environment={"COLUMNS": "200"})
    printed, errors, code = worker.ended()
    assert code == 0, errors
    shown = json.loads(printed)
    help_text, by_flag, by_file = shown["commands"]
    assert " dummy=0.25" in help_text
    assert "dummy = 0.5\n" in by_flag
    assert "dummy = 0.75\n" in by_file
    assert shown["argument"] == "dummy: 'float' = 0.25"
    assert "dummy: A setting that a test adds." in shown["docstring"]
    assert shown["table"] == ["| `dummy` | `--set dummy=…` | `0.25` | A setting that a test adds. In [0, 1]. |"]


def test_files_that_are_no_toml_are_named(tmp_path):
    (tmp_path / "broken.toml").write_text("lr = = 1")
    with pytest.raises(ConfigError, match=r"broken\.toml: expected TOML"):
        read_toml(tmp_path / "broken.toml")
    with pytest.raises(ConfigError, match=r"none\.toml: expected a TOML file"):
        read_toml(tmp_path / "none.toml")


@pytest.mark.parametrize("value", [0, 2.5, True, "3"])
def test_counts_are_whole_numbers(value):
    assert check_count("folds", 3) == 3
    with pytest.raises(ConfigError, match="folds: expected a whole number from 1"):
        check_count("folds", value)


def test_a_description_says_meaning_choices_range_and_purpose():
    alpha, output = (next(f for f in fields(ClassificationSettings) if f.name == n) for n in ("alpha", "output"))
    assert description(alpha, ClassificationSettings).endswith("appnp. In [0, 1]. Only with model appnp.")
    assert "One of paper, paper-bias, midpoint." in description(output, ClassificationSettings)
