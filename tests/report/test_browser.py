"""The page in a real browser, moved by a real pointer."""

import json
import shutil
import statistics
import time

import numpy as np
import pytest

from kappagcn.report import write_report
from kappagcn.report.neighbours import nearest
from report_runs import classified_run, embedded, save_run, tree_edges, tree_run, tree_vectors

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=1280,1000"
)
HOSTILE = "</script><img src=x onerror=window.hacked=1;alert(1)>"
MISSING = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}")


class Page:
    """A page that is open, and what a reader does with it."""

    def __init__(self, driver):
        self.driver = driver

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, path, width=1280):
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get(path.as_uri())
        self.run("document.getElementById('stage').scrollIntoView({block: 'center'})")
        self.rest()
        return self

    def state(self):
        return self.run("return kappagcnView.state()")

    def positions(self):
        return self.run("return kappagcnView.positions()")

    def at(self):
        return np.array([each["at"] for each in self.positions()])

    def screen(self, node):
        return np.array(self.positions()[node]["screen"])

    def rest(self):
        """Wait for the end of a journey and of a frame."""
        end = time.monotonic() + 5
        while self.state()["travelling"] and time.monotonic() < end:
            time.sleep(0.03)
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 30))")

    def pointer(self, *steps):
        """Steps: pixels of the canvas to go to, "down" or "up"."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        box = self.run("const b = document.getElementById('stage').getBoundingClientRect(); return [b.left, b.top]")
        builder = ActionBuilder(self.driver, duration=20)
        for step in steps:
            if isinstance(step, str):
                getattr(builder.pointer_action, f"pointer_{step}")()
            else:
                builder.pointer_action.move_to_location(*(round(float(a + b)) for a, b in zip(box, step, strict=True)))
        builder.perform()

    def click(self, node):
        self.pointer(self.screen(node), "down", "up")
        self.rest()

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def type(self, words):
        from selenium.webdriver.common.by import By

        box = self.driver.find_element(By.ID, "search")
        box.clear()
        box.send_keys(words)
        self.rest()

    def errors(self):
        return [line for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(20)
    yield Page(driver)
    driver.quit()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def tree(folder):
    run = tree_run(folder / "tree", names=[f"Node-{i}" for i in range(121)])
    return run, write_report(run, folder / "tree.html")


@pytest.fixture(scope="module")
def papers(folder):
    run = classified_run(folder / "papers")
    return run, write_report(run, folder / "papers.html")


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
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT * 5 + Keys.ARROW_UP * 5 + "++")
    page.rest()
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
    page.run("document.querySelectorAll('#tabs button')[1].click()")
    assert page.state()["kind"] == "sphere"
    before = page.at()
    node = int(np.argmax(before[:, 2]))
    start = page.screen(node)
    page.pointer(start, "down", start + np.array([30, 30]), start + np.array([90, -60]))
    page.rest()
    assert np.linalg.norm(page.screen(node) - start - [90, -60]) < 2
    page.pointer("up")
    assert np.abs(page.at() - before).max() > 0.1
    assert np.abs(page.at() @ page.at().T - before @ before.T).max() < 1e-9
    assert page.errors() == []


def test_the_plane_is_moved_and_zoomed_about_the_pointer(page, folder):
    run = save_run(folder / "plane", embedded(tree_vectors(40), [2], [0.0], tree_edges(40)))
    page.open(write_report(run, folder / "plane.html"))
    start = page.screen(3)
    page.pointer(start, "down", start + np.array([80, 40]), "up")
    assert np.linalg.norm(page.screen(3) - start - [80, 40]) < 1
    page.run(
        "const c = document.getElementById('stage'), b = c.getBoundingClientRect(); c.dispatchEvent(new WheelEvent("
        "'wheel', {deltaY: -300, ctrlKey: true, clientX: b.left + arguments[0], clientY: b.top + arguments[1]}))",
        *page.screen(3).tolist(),
    )
    assert np.linalg.norm(page.screen(3) - start - [80, 40]) < 1
    assert page.state()["zoom"] > 1
    assert page.errors() == []


def test_hover_shows_name_class_and_prediction(page, papers):
    page.open(papers[1])
    told = papers[0].embedded
    page.pointer(page.screen(4))
    lines = page.texts("#tip > *")
    shown = int(lines[0].removeprefix("paper "))  # the nearest, should two lie together
    assert lines[1] == f"class: topic {told.labels[shown]}"
    likely = told.probabilities[shown]
    assert lines[2].startswith(f"predicted: topic {likely.argmax()} ({100 * likely.max():.1f} %")
    assert lines[3] in ("training node", "early stopping node", "validation node", "test node")
    page.pointer((5, 5))
    assert page.run("return document.getElementById('tip').hidden")


def test_a_click_lists_the_nearest_nodes_of_the_full_space(page, papers):
    page.open(papers[1])
    page.click(10)
    node = page.state()["selected"]
    near, lengths = nearest(papers[0].embedded, np.array([node]))
    assert page.texts("#near li span") == [f"paper {other}" for other in near[0]]
    listed = [float(text) for text in page.texts("#near li em")]
    assert listed == pytest.approx(lengths[0].tolist(), rel=1e-3)
    page.run("document.querySelector('#near button').click()")
    page.rest()
    assert page.state()["selected"] == near[0, 0]
    assert np.abs(page.at()[near[0, 0]]).max() < 1e-9


def test_search_centres_what_it_finds_and_says_what_it_does_not(page, tree, papers):
    page.open(tree[1])
    page.type("nODE-77\n")
    assert np.abs(page.at()[77]).max() < 1e-9
    assert page.state()["selected"] == 77
    page.type("node-1")
    assert page.texts("#matches span")[:3] == ["Node-1", "Node-10", "Node-11"]
    page.type("nobody\n")
    assert page.text("#search-says") == "No such node."
    page.open(papers[1])
    page.run("document.querySelectorAll('#tabs button')[1].click()")
    page.type("paper 33\n")
    assert np.abs(page.at()[33] - [0, 0, 1]).max() < 1e-9


def test_the_legend_hides_and_shows_a_class(page, papers):
    page.open(papers[1])
    labels = papers[0].embedded.labels
    page.run("document.querySelectorAll('#legend button')[1].click()")
    assert [each["visible"] for each in page.positions()] == (labels != 1).tolist()
    assert page.run("return document.querySelectorAll('#legend button')[1].getAttribute('aria-pressed')") == "false"
    page.run("document.querySelectorAll('#legend button')[1].click()")
    assert all(each["visible"] for each in page.positions())


def test_hostile_names_are_displayed_and_do_nothing(page, folder):
    names = np.array([HOSTILE, *(f"n{i}" for i in range(12))])
    more = {"labels": np.zeros(13, int), "class_names": np.array([HOSTILE])}
    told = embedded(tree_vectors(13), [2], [-1.0], tree_edges(13), names=names, **more)
    run = save_run(folder / "hostile", told, {"graph": HOSTILE, "distortion": 0.5, "note": HOSTILE})
    page.open(write_report(run, folder / "hostile.html"))
    page.pointer(page.screen(0))
    assert page.texts("#tip b") == [HOSTILE]
    page.click(1)
    page.type("img")
    assert HOSTILE in page.texts("#matches span")
    assert HOSTILE in page.texts("#near span")
    assert HOSTILE in page.text("h1")
    assert page.run("return [window.hacked, document.images.length]") == [None, 0]
    assert page.errors() == []


def test_curves_and_bars_tell_their_values(page, tree):
    page.open(tree[1])
    for chart, words in (("#curves .chart", "epoch"), ("#histogram .chart", "pairs")):
        told = page.run(
            "const s = document.querySelector(arguments[0] + ' svg'), b = s.getBoundingClientRect();"
            "s.dispatchEvent(new PointerEvent('pointermove', {clientX: b.left + b.width / 2, clientY: b.top + 50}));"
            "return document.querySelector(arguments[0] + ' .chart-tip').textContent",
            chart,
        )
        assert words in told
    assert page.run("return document.querySelectorAll('#curves svg .line').length") == 2


def test_narrow_screens_need_no_sideways_scrolling(page, tree, papers):
    for _, path in (tree, papers):
        page.open(path, width=400)
        assert page.run("return document.documentElement.scrollWidth") <= 400
    assert page.errors() == []


def test_two_thousand_nodes_move(page, folder):
    rng = np.random.default_rng(0)
    extra = rng.integers(0, 2000, (3000, 2))
    run = save_run(
        folder / "large",
        embedded(tree_vectors(2000), [2], [-1.0], np.vstack([tree_edges(2000), extra[extra[:, 0] != extra[:, 1]]])),
    )
    page.open(write_report(run, folder / "large.html"))
    before, drawn = page.at(), page.state()["drawn"]
    # A drag of 90 frames by events of the page itself: the driver's own round trips would be timed otherwise.
    page.driver.execute_async_script(
        "const done = arguments[0], c = document.getElementById('stage'), b = c.getBoundingClientRect(); let t = 0;"
        "c.setPointerCapture = () => {};"
        "const send = (kind, x, y) => c.dispatchEvent(new PointerEvent(kind, {pointerId: 1, bubbles: true,"
        " clientX: b.left + b.width / 2 + x, clientY: b.top + b.height / 2 + y}));"
        "send('pointerdown', 0, 0);"
        "const step = () => { t += 1; send('pointermove', 150 * Math.sin(t / 9), 120 * Math.sin(t / 7));"
        " t < 90 ? requestAnimationFrame(step) : (send('pointerup', 0, 0), done()) }; step();"
    )
    frames = page.run("return kappagcnView.frameMilliseconds()")
    state = page.state()
    page.rest()
    told = {"median": statistics.median(frames), "worst": max(frames), "script": state["drawMilliseconds"]}
    print("2000 nodes, 5000 edges, milliseconds:", json.dumps(told), "edges while moving:", round(state["budget"]))
    assert page.state()["drawn"] > drawn + 30
    assert np.abs(page.at() - before).max() > 0.1
    assert page.errors() == []
