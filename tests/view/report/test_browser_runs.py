"""Pages of several runs, of many classes and of parts of graphs in a real browser."""

import base64

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from kappagcn.view.centre import adjacency
from kappagcn.view.palette import COLOURS, SHAPES
from kappagcn.view.report import content, write_comparison, write_report
from report_runs import embedded, save_run, tree_edges, tree_vectors


@pytest.fixture(scope="module")
def compared(folder):
    runs = []
    for name, (k, distortion) in {"curved": (-1.0, 0.02), "flat": (0.0, 0.18)}.items():
        made = embedded(tree_vectors(40), [2], [k], tree_edges(40))
        summary = {"graph": "tree", "distortion": distortion, "epochs": 20, "objective": "distortion"}
        runs.append(save_run(folder / name, made, summary))
    return write_comparison(runs, folder / "compared.html")


def test_runs_stand_beside_each_other_with_one_table_and_one_verdict(page, compared):
    page.open(compared)
    assert [page.state(place)["kind"] for place in (0, 1)] == ["disk", "plane"]
    boxes = page.run(
        "return [...document.querySelectorAll('.stage canvas')].map((c) => { const b = c.getBoundingClientRect();"
        " return [b.left, b.right, b.top] })"
    )
    assert boxes[0][1] <= boxes[1][0]
    assert boxes[0][2] == boxes[1][2]
    assert page.text(".lead").startswith("In H2 (κ = −1) distances are kept 9 times better than in the plane")
    assert page.texts("#comparison tbody th") == ["curved", "flat"]
    assert page.texts("#comparison b") == ["0.02"]
    assert page.errors() == []


def test_selection_and_pointing_are_linked_between_runs(page, compared):
    page.open(compared)
    blank = [page.pixels(place) for place in (0, 1)]
    page.pointer(page.screen(5, 1), place=1)
    page.rest()
    assert page.state(0)["hovered"] == 5
    assert all(np.abs(page.pixels(place) - blank[place]).max() > 30 for place in (0, 1))
    page.click(5, place=1)
    assert [page.state(place)["selected"] for place in (0, 1)] == [5, 5]
    lengths = [page.run("return kappagcnView.distance(5, 6)")]
    page.click(5, place=0)  # lists are of the run that was touched last
    lengths.append(page.run("return kappagcnView.distance(5, 6)"))
    assert abs(lengths[0] - lengths[1]) > 1e-3


@pytest.mark.parametrize("dark", [False, True])
def test_classes_have_the_palettes_colours_and_from_the_fifth_on_other_shapes(page, folder, dark):
    angles = 2 * np.pi * np.arange(6) / 6
    tangent = 0.6 * np.column_stack([np.cos(angles), np.sin(angles)])
    more = {"labels": np.arange(6), "class_names": np.array(list("abcdef"))}
    edges = np.column_stack([np.arange(5), np.arange(1, 6)])
    run = save_run(folder / "six", embedded(tangent, [2], [0.0], edges, **more))
    page.open(write_report(run, folder / "six.html"), dark=dark)
    palette, shown = COLOURS["dark" if dark else "light"], page.pixels()
    for node in range(6):
        x, y = page.screen(node).round().astype(int)
        colour = [int(palette[node][i : i + 2], 16) for i in (1, 3, 5)]
        mark = np.abs(shown[y - 9 : y + 10, x - 9 : x + 10, :3] - colour).max(-1) < 40
        assert mark[9, 9]
        filled = mark.sum() / (mark.any(0).sum() * mark.any(1).sum())  # of the smallest box about it
        assert (filled > 0.9) == (node >= 4), filled
    assert SHAPES[:2] == ("disc", "square")


def test_of_larger_graphs_a_connected_part_is_shown_and_said(page, folder, monkeypatch):
    monkeypatch.setattr(content, "MOST_NODES", 50)
    labels = np.arange(121) % 3
    more = {"labels": labels, "class_names": np.array(["a", "b", "c"])}
    run = save_run(folder / "part", embedded(tree_vectors(121), [2], [-1.0], tree_edges(121), **more))
    page.open(write_report(run, folder / "part.html"))
    assert "50 of 121 nodes are shown: those that are the fewest steps from the most central node" in page.text(
        "#about"
    )
    assert len(page.positions()) == 50
    assert page.texts("#legend em") == [str(count) for count in np.bincount(labels)]  # of the whole graph
    seen = content.graph_view(run.embedded)
    edges = np.frombuffer(base64.b64decode(seen["edges"]["u2"]), "<u2").reshape(-1, 2)
    assert connected_components(adjacency(edges.astype(int), 50), directed=False)[0] == 1


def test_points_in_a_small_part_of_the_space_fill_the_picture(page, folder):
    run = save_run(folder / "near", embedded(0.05 * tree_vectors(40), [2], [-1.0], tree_edges(40)))
    page.open(write_report(run, folder / "near.html"))
    assert page.state()["zoom"] > 2
    places = np.array([each["screen"] for each in page.positions()])
    height, width = page.pixels().shape[:2]
    assert np.ptp(places, axis=0).max() > 0.7 * min(height, width)
    assert (places > 0).all()
    assert (places < [width, height]).all()


def test_the_picture_fills_the_screen_and_comes_back(page, tree):
    from selenium.webdriver.common.by import By

    page.open(tree[1])
    small = page.run("return document.querySelector('.stage canvas').clientHeight")
    page.driver.find_element(By.ID, "full").click()
    page.rest()
    assert page.run("return document.fullscreenElement?.id") == "view"
    assert page.run("return document.querySelector('.stage canvas').clientHeight") > small
    page.driver.find_element(By.ID, "full").click()
    page.rest()
    assert page.run("return document.fullscreenElement") is None
    assert page.errors() == []
