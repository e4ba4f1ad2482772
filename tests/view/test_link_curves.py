"""Curves of scores: areas are the metrics, ends are corners, long lists are thinned."""

import numpy as np
import pytest

from kappagcn.view.curves import MOST_POINTS, link_curves


@pytest.mark.parametrize("count", [5, 3000])
def test_curves_run_from_corner_to_corner_and_enclose_the_auc(count):
    rng = np.random.default_rng(0)
    edges, others = rng.normal(1, 1, count), rng.normal(0, 1, count + 3)
    curves = link_curves(edges, others)
    assert (curves.false_positives[0], curves.true_positives[0]) == (0, 0)
    assert (curves.false_positives[-1], curves.true_positives[-1]) == (1, 1)
    assert len(curves.recall) == len(curves.precision) <= MOST_POINTS + 1
    auc = (edges[:, None] > others).mean()
    assert np.trapezoid(curves.true_positives, curves.false_positives) == pytest.approx(auc, abs=0.002)
    assert curves.edge_shares.sum() == pytest.approx(1)
    assert curves.other_shares.sum() == pytest.approx(1)


def test_equal_scores_are_one_threshold():
    curves = link_curves(np.ones(4), np.ones(6))
    assert curves.true_positives.tolist() == [0, 1]
    assert curves.precision.tolist() == [0.4, 0.4]
