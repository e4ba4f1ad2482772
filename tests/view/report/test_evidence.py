"""Charts of how well curvatures are determined, and the table of candidates."""

import networkx as nx
import pytest

from kappagcn import GraphEmbedder
from kappagcn.run_folder import SavedRun
from kappagcn.view.report import write_report
from kappagcn.view.report.evidence import interval_charts
from kappagcn.view.report.tables import choice_table


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    GraphEmbedder("auto", dim=2, intervals=True, verbose=False).fit(nx.cycle_graph(12), folder=folder)
    return SavedRun(folder)


def test_the_curve_crosses_the_limit_where_the_range_ends(run):
    steep = {"kappa": -1.0, "low": -1.4, "high": -0.5, "identified": True}
    steep["profile"] = [[-4.0, 90.0], [-1.2, 1.004], [-1.0, 1.0], [-0.8, 0.97], [-0.3, 1.2]]
    run.summary["curvature_intervals"], before = [steep], run.summary["curvature_intervals"]
    (chart,) = interval_charts(run)
    run.summary["curvature_intervals"] = before
    rises = dict(zip(chart["x"], chart["rises"], strict=True))
    assert chart["x"] == sorted(chart["x"])
    assert [rises[end] for end in chart["range"]] == pytest.approx([chart["limit"]] * 2)
    assert (rises[-1.0], rises[-0.8]) == pytest.approx((0, -0.03))


def test_pictures_stay_in_their_frames_and_the_candidates_are_listed(run, page, tmp_path):
    learned = [each for each in run.summary["curvature_intervals"] if each]
    page.open(write_report(run, tmp_path / "page.html"))
    charts = page.run(
        "return [...document.querySelectorAll('#intervals svg')].map((svg) => {"
        "const frame = svg.getBoundingClientRect();"
        "const parts = ['.range', '.learned', '.limit'].map((name) => svg.querySelector(name).getBoundingClientRect());"
        "return parts.every((box) => box.left >= frame.left && box.right <= frame.right && box.top >= frame.top) })"
    )
    assert charts == [True] * len(learned) != []
    rows = page.run("return [...document.querySelectorAll('#choice tbody th')].map((cell) => cell.innerText)")
    assert rows == [candidate["space"] for candidate in run.summary["choice"]["candidates"]]
    assert page.text("#choice .note") == run.summary["choice"]["reason"]
    assert page.errors() == []


def test_where_there_is_nothing_nothing_is_shown(tmp_path):
    GraphEmbedder("E2", epochs=20, verbose=False).fit(nx.path_graph(4), folder=tmp_path / "flat")
    flat = SavedRun(tmp_path / "flat")
    assert interval_charts(flat) == []
    assert choice_table(flat) is None
    text = write_report(flat, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="intervals"' not in text
    assert 'id="choice"' not in text


def test_a_curvature_that_is_not_determined_is_said_to_be_so(tmp_path):
    GraphEmbedder("H2", intervals=True, verbose=False).fit(nx.path_graph(9), folder=tmp_path / "line")
    (chart,) = interval_charts(SavedRun(tmp_path / "line"))
    assert "its sign is not determined" in chart["title"] or "any curvature that was tried" in chart["title"]
