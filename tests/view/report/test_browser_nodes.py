"""Nodes in a real browser: pointing at them, picking them, finding them, colours and paths."""

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import dijkstra

from kappagcn.geometry import dist, expmap0
from kappagcn.view.centre import adjacency, depths
from kappagcn.view.palette import COLOURS
from kappagcn.view.report import write_report
from report_runs import embedded, save_run, tree_edges, tree_vectors

HOSTILE = "</script><img src=x onerror=window.hacked=1;alert(1)>"


def distances(made):
    """All distances of the full space, by the geometry's own functions."""
    v, total = torch.as_tensor(made.tangent), 0
    for k, part in made.factors:
        x = expmap0(v[:, part], k=k)
        total = total + dist(x[:, None], x[None], k=k) ** 2
    return total.sqrt().numpy()


def rows(page, selector):
    """Names and both lengths of a list beside the picture."""
    return page.run(
        "return [...document.querySelectorAll(arguments[0] + ' button')].map((b) =>"
        " [b.querySelector('span').textContent, ...[...b.querySelectorAll('em')].map((e) => e.textContent)])",
        selector,
    )


def test_hover_shows_name_class_and_prediction(page, papers):
    page.open(papers[1])
    made = papers[0].embedded
    page.pointer(page.screen(4))
    lines = page.texts(".tip:not([hidden]) > *")
    shown = int(lines[0].removeprefix("paper "))  # the nearest, should two lie together
    assert lines[1] == f"class: topic {made.labels[shown]}"
    likely = made.probabilities[shown]
    assert lines[2].startswith(f"predicted: topic {likely.argmax()} ({100 * likely.max():.1f} %")
    assert lines[3] in ("training node", "early stopping node", "validation node", "test node")
    page.pointer((5, 5))
    assert page.run("return document.querySelector('.tip').hidden")


def test_a_click_lists_graph_neighbours_and_near_nodes_with_both_distances(page, papers):
    page.open(papers[1])
    page.click(10)
    node, made = page.state()["selected"], papers[0].embedded
    steps = dijkstra(adjacency(made.edges, 90), indices=node, unweighted=True)
    space = distances(made)[node]
    neighbours = rows(page, "#neighbours")
    assert {name for name, *_ in neighbours} == {f"paper {other}" for other in np.flatnonzero(steps == 1)}
    near = rows(page, "#near")
    order = [other for other in space.argsort() if other != node][:8]
    assert [name for name, *_ in near] == [f"paper {other}" for other in order]
    for name, graph, length in [*neighbours, *near]:
        other = int(name.removeprefix("paper "))
        assert float(graph) == steps[other]
        assert float(length) == pytest.approx(space[other], rel=1e-3)
    page.button("#near button")
    assert page.state()["selected"] == order[0]
    for place in (0, 1):  # in the middle of both pictures
        middle = page.at(place)[order[0]]
        assert np.abs(middle - ([0, 0, 1] if place else [0, 0])).max() < 1e-9


def test_pointing_at_a_node_fades_all_but_its_neighbours(page, tree):
    page.open(tree[1])
    place = {node: page.screen(node).round().astype(int) for node in (1, 4, 2)}

    def colours():
        return {node: page.pixels(0, *(at - 1).tolist(), 3, 3)[1, 1, :3] for node, at in place.items()}

    before = colours()
    page.pointer(place[1].astype(float))
    page.rest()
    after = colours()
    assert np.abs(after[4] - before[4]).max() < 12  # a child of node 1
    assert np.abs(after[2] - before[2]).max() > 60  # neither neighbour nor near
    page.pointer((4, 4))
    page.rest()
    assert np.abs(colours()[2] - before[2]).max() == 0


def test_selection_is_linked_between_factors_and_near_nodes_look_different(page, papers):
    page.open(papers[1], dark=True)
    blank = [page.pixels(place) for place in (0, 1)]
    page.click(7, place=1)
    accent = np.array([255, 111, 165])
    for place in (0, 1):
        picture = page.pixels(place)
        pink = (np.abs(picture[..., :3] - accent).max(-1) < 8).sum()
        assert pink > 40  # dashed lines and rings of near nodes, in both factors
        assert (np.abs(blank[place][..., :3] - accent).max(-1) < 8).sum() == 0
        white = (picture[..., :3].min(-1) > 235).sum()
        assert white > 20  # solid lines to graph neighbours


def test_the_path_between_two_nodes_has_both_lengths(page, tree):
    page.open(tree[1])
    page.click(40)  # a leaf of the first branch
    page.button("#path")
    page.click(120)  # a leaf of the last one
    assert (page.state()["selected"], page.state()["end"]) == (40, 120)
    assert page.state()["path"] == [40, 13, 4, 1, 0, 3, 12, 39, 120]
    assert page.text("#path-graph") == "8"
    direct = distances(tree[0].embedded)[40, 120]
    assert float(page.text("#path-space")) == pytest.approx(direct, rel=1e-3)
    assert float(page.text("#path-ratio")) == pytest.approx(direct / 8, rel=1e-3)
    assert [name for name, *_ in rows(page, "#path-nodes")][1:3] == ["Node-13", "Node-4"]
    page.button("#unpick")
    assert page.state()["end"] == -1


def test_search_centres_what_it_finds_and_says_what_it_does_not(page, tree):
    page.open(tree[1])
    page.type("nODE-77\n")
    assert np.abs(page.at()[77]).max() < 1e-9
    assert page.state()["selected"] == 77
    page.type("node-1\n")
    assert page.text("#search-says") == ""  # the list it spoke of is gone
    page.type("node-1")
    assert page.texts("#matches span")[:3] == ["Node-1", "Node-10", "Node-11"]
    page.type("nobody\n")
    assert page.text("#search-says") == "No such node."


def test_search_results_are_walked_by_arrow_keys(page, tree):
    from selenium.webdriver.common.keys import Keys

    page.open(tree[1])
    page.type("node-1")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    assert page.state()["selected"] == 10
    page.type("node-2")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert page.run("return document.activeElement.id") == "search"


def test_the_legend_hides_and_shows_a_class(page, papers):
    page.open(papers[1])
    labels = papers[0].embedded.labels
    assert page.texts("#legend em") == ["30", "30", "30"]
    page.button("#legend button:nth-child(2)")
    assert [each["visible"] for each in page.positions()] == (labels != 1).tolist()
    assert page.run("return document.querySelectorAll('#legend button')[1].getAttribute('aria-pressed')") == "false"
    page.button("#legend button:nth-child(2)")
    assert all(each["visible"] for each in page.positions())


def choose(page, title):
    page.run(
        "const c = document.getElementById('colour-by');"
        "c.value = [...c.options].findIndex((o) => o.textContent === arguments[0]);"
        "c.dispatchEvent(new Event('change'))",
        title,
    )
    page.rest()


def test_nodes_are_coloured_by_what_is_chosen(page, papers):
    page.open(papers[1])
    made = papers[0].embedded
    titles = page.texts("#colour-by option")
    assert titles[:4] == ["Class", "Predicted class", "Mistakes", "Split"]
    choose(page, "Split")
    assert page.texts("#legend span") == ["training", "early stopping", "validation", "test"]
    assert page.texts("#legend em") == [str(count) for count in np.bincount(made.parts)[1:]]
    node = int(np.argmax(page.at(1)[:, 2]))
    x, y = page.screen(node, 1).round().astype(int).tolist()
    colour = COLOURS["light"][made.parts[node] - 1]
    seen = page.pixels(1, x - 1, y - 1, 3, 3)[1, 1, :3]
    assert np.abs(seen - [int(colour[i : i + 2], 16) for i in (1, 3, 5)]).max() < 12
    choose(page, "Degree")
    assert page.texts("#legend .ends span") == ["1", "2"]
    choose(page, "Steps from the most central node")
    page.pointer(page.screen(node, 1), place=1)
    steps = page.texts("#stage-1 .tip > *")[-1]
    assert steps.startswith("steps from the most central node: ")


def test_without_classes_the_colour_is_graph_distance_from_the_centre(page, tree):
    page.open(tree[1])
    assert page.state()["colouring"] == "depth"
    assert page.texts("#legend .ends span") == ["0: node Node-0", "4"]
    shown = page.run("return [0, 1, 13, 120].map((i) => { kappagcnView.pick(i); return i })")
    made = tree[0].embedded
    page.pointer(page.screen(13))
    assert page.texts(".tip > *")[-1].endswith(f": {depths(made.edges, 121, 0)[13]:.0f}")
    assert shown == [0, 1, 13, 120]


def test_columns_of_the_node_table_colour_too(page, folder):
    more = {"columns": np.arange(40.0).reshape(20, 2), "column_names": np.array(["age", "wealth"])}
    run = save_run(folder / "table", embedded(tree_vectors(20), [2], [-1.0], tree_edges(20), **more))
    page.open(write_report(run, folder / "table.html"))
    choose(page, "wealth")
    assert page.texts("#legend .ends span") == ["1", "39"]
    page.pointer(page.screen(3))
    assert page.texts(".tip > *")[-1] == "wealth: 7"


def test_hostile_names_are_displayed_and_do_nothing(page, folder):
    names = np.array([HOSTILE, *(f"n{i}" for i in range(12))])
    more = {"labels": np.zeros(13, int), "class_names": np.array([HOSTILE])}
    made = embedded(tree_vectors(13), [2], [-1.0], tree_edges(13), names=names, **more)
    run = save_run(folder / "hostile", made, {"graph": HOSTILE, "distortion": 0.5, "note": HOSTILE})
    page.open(write_report(run, folder / "hostile.html"))
    page.pointer(page.screen(0))
    assert page.texts(".tip b") == [HOSTILE]
    page.click(1)
    page.type("img")
    assert HOSTILE in page.texts("#matches span")
    assert HOSTILE in page.texts("#near span")
    assert HOSTILE in page.text("h1")
    assert "<img" not in page.run("return kappagcnView.svg()")
    assert page.run("return [window.hacked, document.images.length]") == [None, 0]
    assert page.errors() == []
