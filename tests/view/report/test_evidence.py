"""Pictures of how well curvatures are determined, and the table of candidates."""

import re

import networkx as nx
import pytest

from kappagcn import GraphEmbedder
from kappagcn.run_folder import SavedRun
from kappagcn.view.report.evidence import _picture, choice_section, intervals_section
from kappagcn.view.report.page import page


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    GraphEmbedder("auto", dim=2, intervals=True, verbose=False).fit(nx.cycle_graph(12), folder=folder)
    return SavedRun(folder)


def test_every_learned_curvature_has_a_picture_inside_its_frame(run):
    section = intervals_section(run)
    learned = [each for each in run.summary["curvature_intervals"] if each]
    assert section.count("<svg") == len(learned) >= 1
    for pair in re.search(r'polyline points="([^"]*)"', section)[1].split():
        x, y = map(float, pair.split(","))
        assert 0 <= x <= 360
        assert 0 <= y <= 150


def test_the_curve_crosses_the_limit_where_the_range_ends():
    steep = {"kappa": -1.0, "low": -1.4, "high": -0.5, "identified": True}
    steep["profile"] = [[-4.0, 90.0], [-1.2, 1.004], [-1.0, 1.0], [-0.8, 0.97], [-0.3, 1.2]]
    picture = _picture(steep)
    points = [tuple(map(float, pair.split(","))) for pair in re.search(r'points="([^"]*)"', picture)[1].split()]
    left, width = (float(re.search(rf'<rect[^>]* {key}="([^"]*)"', picture)[1]) for key in ("x", "width"))
    limit = float(re.search(r'y1="([^"]*)"[^>]*class="limit"', picture)[1])
    crossings = [x for x, y in points if y == pytest.approx(limit, abs=0.2)]
    assert crossings == pytest.approx([left, left + width], abs=0.2)  # not where a line to a far value would cross
    assert min(y for _, y in points) == points[0][1] == points[-1][1] >= 0  # ends at the upper edge of the picture
    assert max(points, key=lambda point: point[1])[0] > float(re.search(r'x1="([^"]*)"[^>]*class="own"', picture)[1])


def test_the_candidates_and_the_reason_are_on_the_page(run):
    section = choice_section(run)
    for candidate in run.summary["choice"]["candidates"]:
        assert f">{candidate['space']}<" in section
    assert run.summary["choice"]["reason"].split(",")[0].replace("&", "&amp;") in section


def test_both_are_on_the_page_and_absent_where_there_is_nothing(run, tmp_path):
    assert 'id="intervals"' in page(run)
    assert 'id="choice"' in page(run)
    GraphEmbedder("E2", epochs=20, verbose=False).fit(nx.path_graph(4), folder=tmp_path / "flat")
    flat = page(SavedRun(tmp_path / "flat"))
    assert 'id="intervals"' not in flat
    assert 'id="choice"' not in flat


def test_a_curvature_that_is_not_determined_is_said_to_be_so(run, tmp_path):
    GraphEmbedder("H2", intervals=True, verbose=False).fit(nx.path_graph(9), folder=tmp_path / "line")
    section = intervals_section(SavedRun(tmp_path / "line"))
    assert "its sign is not determined" in section or "any curvature that was tried fits as well" in section
