"""Settings in TOML files."""

import pytest

from kappagcn.errors import ConfigError
from kappagcn.training.toml_files import read_toml, write_toml

VALUES = {"space": "H8xS8", "lr": 0.01, "epochs": 20, "split": False, "num_neighbors": [10, 5], "note": 'κ "\\\x7f\n'}


def test_what_is_written_is_read_again(tmp_path):
    write_toml(tmp_path / "settings.toml", VALUES)
    assert read_toml(tmp_path / "settings.toml") == VALUES


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), {"a": 1}])
def test_values_that_toml_cannot_hold_are_refused(value, tmp_path):
    with pytest.raises(ConfigError, match="expected settings that are words, finite numbers or lists of them"):
        write_toml(tmp_path / "settings.toml", {"lr": value})
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_toml_are_named(tmp_path):
    (tmp_path / "broken.toml").write_text("lr = = 1")
    with pytest.raises(ConfigError, match=r"broken\.toml: expected TOML"):
        read_toml(tmp_path / "broken.toml")
    with pytest.raises(ConfigError, match=r"none\.toml: expected a TOML file"):
        read_toml(tmp_path / "none.toml")
