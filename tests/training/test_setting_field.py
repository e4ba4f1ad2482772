"""Fields of settings: counts, and what documents say of a field."""

from dataclasses import fields

import pytest

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.training.setting_field import check_count, description


@pytest.mark.parametrize("value", [0, 2.5, True, "3"])
def test_counts_are_whole_numbers(value):
    assert check_count("folds", 3) == 3
    with pytest.raises(ConfigError, match="folds: expected a whole number from 1"):
        check_count("folds", value)


def test_a_description_says_meaning_choices_range_and_purpose():
    alpha, output = (next(f for f in fields(ClassificationSettings) if f.name == n) for n in ("alpha", "output"))
    assert description(alpha, ClassificationSettings).endswith("appnp. In [0, 1]. Only with model appnp.")
    assert "One of paper, paper-bias, midpoint." in description(output, ClassificationSettings)
