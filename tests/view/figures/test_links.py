"""The picture of a link prediction."""

from types import SimpleNamespace

import numpy as np

from kappagcn.run_folder import Links
from kappagcn.view.figures.outcome import link_scores
from kappagcn.view.figures.style import LIGHT, styled

NOTHING = np.array([], np.str_)


def run(edges, others):
    links = Links(np.array(edges), np.array(others), NOTHING, NOTHING, np.empty(0))
    summary = {"metrics": {"roc_auc": 0.75, "average_precision": 0.8}, "test_pairs": len(edges) + len(others)}
    return SimpleNamespace(links=links, summary=summary, graph="staff")


def test_three_panels_with_their_numbers():
    with styled(LIGHT):
        figure = link_scores(LIGHT, run([2.0, 1.0], [1.5, 0.0]))
    roc, precise, scores = figure.axes
    assert "0.750" in roc.get_title()
    assert "0.800" in precise.get_title()
    assert roc.lines[0].get_xdata()[-1] == 1
    assert [text.get_text() for text in roc.get_legend().get_texts()] == ["chance"]
    assert len(scores.patches) == 80


def test_nothing_to_draw():
    assert link_scores(LIGHT, run([], [])) is None
    assert link_scores(LIGHT, SimpleNamespace(links=None)) is None
