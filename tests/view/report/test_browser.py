"""Moving through the spaces, by a real pointer in a real browser."""

import numpy as np

from kappagcn.view.report import write_report
from report_runs import embedded, save_run, tree_edges, tree_vectors


def hyperbolic(at):
    z = at[:, 0] + 1j * at[:, 1]
    return 2 * np.arctanh(np.abs((z[:, None] - z) / (1 - z.conj()[:, None] * z)))


def test_a_drag_in_the_disk_takes_the_node_along_and_keeps_distances(page, tree):
    page.open(tree[1])
    before, node = page.at(), 5
    start = page.screen(node)
    goal = start + np.array([-130, 90])
    page.pointer(start, "down", start + np.array([-20, 10]), start + np.array([-60, -60]), goal)
    page.rest()
    assert np.linalg.norm(page.screen(node) - goal) < 2
    after = page.at()
    page.pointer("up")
    assert np.abs(after - before).max() > 0.1
    assert np.abs(hyperbolic(after) - hyperbolic(before)).max() < 1e-6
    assert page.errors() == []


def test_many_drags_and_keys_do_not_add_up_errors(page, tree):
    from selenium.webdriver.common.keys import Keys

    page.open(tree[1])
    before, middle = page.at(), page.screen(0)
    for turn in range(12):
        way = 150 * np.array([np.cos(2.4 * turn), np.sin(2.4 * turn)])
        page.pointer(middle - way, "down", middle + way, "up")
    page.press(Keys.SHIFT, *[Keys.ARROW_LEFT] * 5, *[Keys.ARROW_UP] * 5, Keys.NULL, "++")
    assert np.abs(hyperbolic(page.at()) - hyperbolic(before)).max() < 1e-6
    assert page.state()["zoom"] > 1
    page.run("document.getElementById('reset').click()")
    assert np.abs(page.at() - before).max() < 1e-12
    assert page.state()["zoom"] == 1


def test_points_near_the_boundary_stay_finite_and_can_be_visited(page, folder):
    angles = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    tangent = 7.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    run = save_run(folder / "far", embedded(tangent, [2], [-1.0], tree_edges(20)))
    page.open(write_report(run, folder / "far.html"))
    page.type("7\n")
    at = page.at()
    assert np.isfinite(at).all()
    assert np.abs(at[7]).max() < 1e-6
    page.pointer(
        page.screen(7), "down", page.screen(7) + np.array([300, 10]), page.screen(7) + np.array([-280, 100]), "up"
    )
    assert np.isfinite(page.at()).all()
    assert (np.linalg.norm(page.at(), axis=1) <= 1).all()
    assert page.errors() == []


def test_the_sphere_turns_with_the_pointer(page, papers):
    page.open(papers[1])
    assert page.state(1)["kind"] == "sphere"
    before, disk = page.at(1), page.at(0)
    node = int(np.argmax(before[:, 2]))
    start = page.screen(node, 1)
    page.pointer(start, "down", start + np.array([20, 20]), start + np.array([60, -40]), place=1)
    page.rest()
    assert np.linalg.norm(page.screen(node, 1) - start - [60, -40]) < 2
    page.pointer("up", place=1)
    after = page.at(1)
    assert np.abs(after - before).max() > 0.1
    assert np.abs(after @ after.T - before @ before.T).max() < 1e-9
    assert np.array_equal(page.at(0), disk)  # the other factor stays
    assert page.errors() == []


def test_the_plane_is_moved_and_zoomed_about_the_pointer(page, folder):
    run = save_run(folder / "plane", embedded(tree_vectors(40), [2], [0.0], tree_edges(40)))
    page.open(write_report(run, folder / "plane.html"))
    start = page.screen(3)
    page.pointer(start, "down", start + np.array([80, 40]), "up")
    assert np.linalg.norm(page.screen(3) - start - [80, 40]) < 1
    page.run(
        "const c = document.querySelector('.stage canvas'), b = c.getBoundingClientRect();"
        "c.dispatchEvent(new WheelEvent("
        "'wheel', {deltaY: -300, ctrlKey: true, clientX: b.left + arguments[0], clientY: b.top + arguments[1]}))",
        *page.screen(3).tolist(),
    )
    assert np.linalg.norm(page.screen(3) - start - [80, 40]) < 1
    assert page.state()["zoom"] > 1
    assert page.errors() == []


def test_curves_and_bars_show_their_values(page, tree):
    page.open(tree[1])
    for chart, words in (("#curves .chart", "epoch"), ("#histogram .chart", "pairs")):
        arrays = page.run(
            "const s = document.querySelector(arguments[0] + ' svg'), b = s.getBoundingClientRect();"
            "s.dispatchEvent(new PointerEvent('pointermove', {clientX: b.left + b.width / 2, clientY: b.top + 50}));"
            "return document.querySelector(arguments[0] + ' .chart-tip').textContent",
            chart,
        )
        assert words in arrays
    assert page.run("return document.querySelectorAll('#curves svg .line').length") == 2
