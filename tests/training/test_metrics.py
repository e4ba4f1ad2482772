"""Area under the ROC curve and average precision: by definition, by hand, and as in scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from kappagcn.errors import ConfigError
from kappagcn.training.estimate import average_precision, roc_auc


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_metrics_are_those_of_the_definition_and_of_scikit_learn(seed, ties):
    rng = np.random.default_rng(seed)
    positive, negative = rng.normal(1, 1, 57), rng.normal(0, 1, 83)
    if ties:
        positive, negative = positive.round(1), negative.round(1)
    wins = (positive[:, None] > negative).mean() + 0.5 * (positive[:, None] == negative).mean()
    labelled = np.repeat([1, 0], [57, 83]), np.concatenate([positive, negative])
    assert roc_auc(positive, negative) == pytest.approx(wins, abs=1e-12)
    assert roc_auc(positive, negative) == pytest.approx(roc_auc_score(*labelled), abs=1e-12)
    assert average_precision(positive, negative) == pytest.approx(average_precision_score(*labelled), abs=1e-12)


def test_average_precision_by_hand():
    """Thresholds 3, 2 and 1 with precision 1, 1/2 (tied) and 3/5."""
    expected = 1 / 3 * 1 + 1 / 3 * 2 / 4 + 1 / 3 * 3 / 5
    assert average_precision([3.0, 2.0, 1.0], [2.0, 2.0]) == pytest.approx(expected)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ConfigError, match="at least one edge"):
        roc_auc([], [1.0])
    with pytest.raises(ConfigError, match="finite"):
        roc_auc([np.nan], [1.0])
