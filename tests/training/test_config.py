"""Training settings."""

import math

import pytest

from kappagcn.errors import TrainingError
from kappagcn.training.config import TrainingConfig


@pytest.mark.parametrize(
    ("options", "words"),
    [({"epochs": 0}, "epochs: expected a whole"), ({"lr": math.nan}, "lr: expected"), ({"l2": -1.0}, "l2: expected"),
     ({"patience": -3}, "patience: expected"), ({"seed": -1}, "seed: expected")],
)  # fmt: skip
def test_wrong_settings_are_named(options, words):
    with pytest.raises(TrainingError, match=words):
        TrainingConfig(**options)
