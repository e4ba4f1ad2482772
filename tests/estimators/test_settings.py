"""One definition of every setting: what is made from the fields, and what a new field brings with it."""

import inspect
import json
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

import kappagcn
from kappagcn import GraphEmbedder, KappaGCNClassifier
from kappagcn.errors import ConfigError
from kappagcn.estimators.settings import ClassificationSettings, EmbeddingSettings, as_settings, settings_table
from workers import Worker, execute

KINDS = {GraphEmbedder: EmbeddingSettings, KappaGCNClassifier: ClassificationSettings}


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


def test_text_of_the_command_line_becomes_settings():
    values = {"seed": 3, "num_neighbors": "10,5", "dropout": "0.5", "l2": "auto", "space": "H2"}
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


LINE = '    dummy: float = setting(0.25, "A setting that a test adds.", range="[0, 1]")\n'
SHOW = """
import inspect, json, sys
sys.path.insert(0, sys.argv[1])
for name in [name for name in sys.modules if name.partition(".")[0] == "kappagcn"]:
    del sys.modules[name]
from typer.testing import CliRunner
from kappagcn import KappaGCNClassifier
from kappagcn.cli import app
from kappagcn.estimators.settings import ClassificationSettings, settings_table
commands = [["--help"], ["--dummy", "0.5", "--dry-run"], ["--config", sys.argv[2], "--dry-run"]]
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
    path = tmp_path / "kappagcn" / "estimators" / "settings.py"
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
    assert "--dummy" in help_text
    assert "A setting that a test adds." in help_text
    assert "dummy = 0.5\n" in by_flag
    assert "dummy = 0.75\n" in by_file
    assert shown["argument"] == "dummy: 'float' = 0.25"
    assert "dummy: A setting that a test adds." in shown["docstring"]
    assert shown["table"] == ["| `dummy` | `--dummy` | `0.25` | A setting that a test adds. |"]
