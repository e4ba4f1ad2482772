"""The whole page in a real browser: spaces that look different, phones, keys, print, files, links, large graphs."""

import json
import re
import statistics

import numpy as np

from kappagcn.view.report import write_report
from report_runs import classified_run, embedded, save_run, tree_edges, tree_vectors

LONG = [f"Artificial_Intelligence/Machine_Learning/{name}" for name in ("Case_Based", "Genetic_Algorithms", "Theory")]


def brightness(picture, x, y):
    return picture[y - 2 : y + 3, x - 2 : x + 3, :3].mean()


def test_a_sphere_is_shaded_and_a_disk_has_a_grid(page, papers):
    page.open(papers[1])
    disk, sphere = page.pixels(0), page.pixels(1)
    height, width = sphere.shape[:2]
    corners = [(int(share * width), int(share * height)) for share in (0.22, 0.78)]
    lit, dark = (np.median(sphere[y - 15 : y + 16, x - 15 : x + 16, :3]) for x, y in corners)
    assert lit > dark + 8  # light from above on the left
    radius = 0.47 * min(height, width)
    ring = [(width / 2 + 0.97 * radius * np.cos(a), height / 2 - 0.97 * radius * np.sin(a)) for a in (2.3, -0.8)]
    one, other = (brightness(disk, int(x), int(y)) for x, y in ring)
    assert abs(one - other) < 8  # the disk is even
    grid = np.abs(disk[..., :3] - [227, 231, 238]).max(-1) < 3
    assert grid.sum() > 300


def test_far_sides_are_dim(page, folder):
    rng = np.random.default_rng(1)
    tangent = rng.uniform(-1.4, 1.4, (200, 2))
    run = save_run(folder / "ball", embedded(tangent, [2], [1.0], tree_edges(200)))
    page.open(write_report(run, folder / "ball.html"))
    picture, at = page.pixels(), page.at()
    front, back = int(np.argmax(at[:, 2])), int(np.argmin(at[:, 2]))
    assert at[back, 2] < -0.5
    x, y = page.screen(back).round().astype(int)
    x2, y2 = page.screen(front).round().astype(int)
    assert brightness(picture, x, y) > brightness(picture, x2, y2) + 20


def test_narrow_screens_need_no_sideways_scrolling_and_have_large_targets(page, tree, papers):
    for _, path in (tree, papers):
        page.open(path, width=400)
        assert page.run("return document.documentElement.scrollWidth") <= 400
        sizes = page.run(
            "kappagcnView.pick(1); return [...document.querySelectorAll('button, input, select, summary')]"
            ".map((e) => e.getBoundingClientRect()).filter((b) => b.width).map((b) => [b.width, b.height])"
        )
        assert len(sizes) > 20
        assert np.array(sizes).min() >= 40
    assert page.errors() == []


def test_long_class_names_are_whole_at_400_pixels(page, folder):
    run = classified_run(folder / "long", classes=3)
    made = type(run.embedded)(**{**vars(run.embedded), "class_names": np.array(LONG)})
    page.open(write_report(save_run(folder / "long", made, run.summary, run.metrics), folder / "long.html"), width=400)
    shown = page.run(
        "return [...document.querySelectorAll('.confusion th, #legend span')].map((e) => [e.textContent,"
        " e.scrollWidth - e.clientWidth, e.getBoundingClientRect().right, getComputedStyle(e).textOverflow])"
    )
    names = {"Case Based", "Genetic Algorithms", "Theory"}
    assert names <= {text for text, *_ in shown}
    for text, beyond, right, _ in shown:
        if text in names:
            assert beyond <= 1
            assert right <= 400


def test_the_table_of_baselines_is_whole_at_400_pixels(page, folder):
    run = classified_run(folder / "measured")
    each = {"accuracy": 0.827, "balanced_accuracy": 0.831, "macro_f1": 0.817, "auc": 0.968}
    run.summary.update(each, baselines=dict.fromkeys(("majority", "features", "gcn"), each), verdict="Level.")
    page.open(write_report(run, folder / "measured.html"), width=400)
    wide, inside = page.run(
        "const b = document.querySelector('#baselines .wide'); return [b.clientWidth, b.scrollWidth]"
    )
    assert inside <= wide
    assert len(page.texts("#baselines tbody tr")) == 4


def touch(page, kind, *points):
    box = page.run("const b = document.querySelector('.stage canvas').getBoundingClientRect(); return [b.left, b.top]")
    places = [{"x": box[0] + x, "y": box[1] + y, "id": i} for i, (x, y) in enumerate(points)]
    page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})


def test_one_finger_scrolls_the_page_and_two_move_the_picture(page, tree):
    page.open(tree[1], width=400)
    page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    try:
        before = page.at()
        touch(page, "touchStart", (120, 200))
        touch(page, "touchStart", (120, 200), (220, 200))
        for step in range(1, 5):
            touch(page, "touchMove", (120 + 10 * step, 200), (220 + 10 * step, 200))
        touch(page, "touchEnd")
        page.rest()
        moved = page.at()
        assert np.abs(moved - before).max() > 0.05
        page.button("#finger")
        touch(page, "touchStart", (200, 200))
        for step in range(1, 5):
            touch(page, "touchMove", (200, 200 - 10 * step))
        touch(page, "touchEnd")
        page.rest()
        after, top = page.at(), page.run("return scrollY")
        assert np.abs(after - moved).max() > 0.05
        page.button("#finger")
        touch(page, "touchStart", (200, 250))
        for step in range(1, 9):
            touch(page, "touchMove", (200, 250 - 20 * step))
        touch(page, "touchEnd")
        page.rest()
        assert np.array_equal(page.at(), after)
        assert page.run("return scrollY") > top + 50
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    assert page.errors() == []


def test_nodes_are_reached_and_picked_by_keys(page, tree):
    from selenium.webdriver.common.keys import Keys

    page.open(tree[1])
    page.run("document.querySelector('.stage canvas').focus()")
    page.press(Keys.ARROW_RIGHT)
    assert page.state()["hovered"] == 0  # the node in the middle
    page.press(Keys.ARROW_LEFT)
    reached = page.state()["hovered"]
    assert page.screen(reached)[0] < page.screen(0)[0] - 5
    assert page.text("#spoken").startswith(f"Node-{reached}")
    page.press(Keys.ENTER)
    assert page.state()["selected"] == reached
    page.press(Keys.ESCAPE)
    assert page.state()["selected"] == -1


def test_in_print_the_disk_stays_round(page, tree):
    page.open(tree[1], media="print")
    fit, wide, high, own_wide, own_high = page.run(
        "const c = document.querySelector('.stage canvas'), b = c.getBoundingClientRect();"
        "return [getComputedStyle(c).objectFit, b.width, b.height, c.width, c.height]"
    )
    assert fit == "contain" or abs(wide / high - own_wide / own_high) < 0.01
    at = page.positions()
    horizontal, vertical = (np.ptp([each["screen"][axis] for each in at]) for axis in (0, 1))
    assert abs(horizontal / vertical - 1) < 0.1


def test_pictures_are_saved_as_png_and_svg(page, tree):
    page.open(tree[1])
    page.run(
        "window.saved = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { blob.arrayBuffer().then((b) => saved.push([blob.type, blob.size,"
        " [...new Uint8Array(b.slice(0, 8))]])); return make(blob) };"
        "HTMLAnchorElement.prototype.click = function () { window.named = [...(window.named || []), this.download] }"
    )
    page.button("#save-png")
    page.button("#save-svg")
    page.driver.execute_async_script("const done = arguments[0]; setTimeout(done, 150)")
    saved = {kind: (size, start) for kind, size, start in page.run("return saved")}
    assert saved["image/png"][0] > 5000
    assert bytes(saved["image/png"][1][1:4]) == b"PNG"
    assert saved["image/svg+xml"][0] > 5000
    assert {name[-4:] for name in page.run("return named")} == {".png", ".svg"}
    svg = page.run("kappagcnView.pick(3); return kappagcnView.svg()")
    assert svg.startswith("<svg xmlns=")
    assert ">Node-3</text>" in svg
    assert "NaN" not in svg
    assert len(re.findall(r"stroke-dasharray", svg)) == 1
    assert page.errors() == []


def test_a_link_shows_the_same_view(page, papers):
    page.open(papers[1])
    start = page.screen(3)
    page.pointer(start, "down", start + np.array([40, 20]), "up")
    page.run("kappagcnView.pick(12); kappagcnView.pick(20, true)")
    page.button("#zoom-in")
    page.button("#link")
    address = page.run("return location.hash")
    assert address == page.run("return kappagcnView.address()")
    before, state = page.at(), page.state()
    page.open(papers[1], address=address)
    after = page.state()
    for key in ("selected", "end", "path", "colouring", "hidden"):
        assert after[key] == state[key]
    assert abs(after["zoom"] / state["zoom"] - 1) < 1e-5
    assert np.abs(page.at() - before).max() < 1e-5


def test_the_last_tick_and_the_word_at_one_are_whole(page, folder):
    lines = [{"epoch": t, "distortion": 1 / t, "curvatures": [-1.0]} for t in range(1, 1001, 3)]
    ratios = {"ratio_edges": np.linspace(0, 2, 51), "ratio_counts": np.exp(-((np.arange(50) - 25) ** 2) / 9)}
    run = save_run(folder / "ticks", embedded(tree_vectors(30), [2], [-1.0], tree_edges(30), **ratios), metrics=lines)
    page.open(write_report(run, folder / "ticks.html"))
    inside = page.run(
        "return [...document.querySelectorAll('.chart svg')].map((s) => { const b = s.getBoundingClientRect();"
        "return [...s.querySelectorAll('text')].every((t) => { const r = t.getBoundingClientRect();"
        "return r.left >= b.left - 0.5 && r.right <= b.right + 0.5 }) })"
    )
    assert inside
    assert all(inside)
    overlap = page.run(
        "const t = [...document.querySelectorAll('#histogram text')].find((e) => e.textContent.includes('perfect'))"
        ".getBoundingClientRect(); return [...document.querySelectorAll('#histogram .bar')].filter((e) => {"
        " const b = e.getBoundingClientRect(); return b.height > 0 && b.left < t.right && t.left < b.right &&"
        " b.top < t.bottom && t.top < b.bottom }).length"
    )
    assert overlap == 0


def test_five_thousand_nodes_move(page, folder):
    rng = np.random.default_rng(0)
    extra = rng.integers(0, 5000, (2001, 2))
    edges = np.vstack([tree_edges(5000), extra[extra[:, 0] != extra[:, 1]]])
    run = save_run(folder / "large", embedded(tree_vectors(5000), [2], [-1.0], edges))
    page.open(write_report(run, folder / "large.html"))
    before, drawn = page.at(), page.state()["drawn"]
    # A drag of 60 frames by events of the page itself: the driver's own round trips would be timed otherwise.
    page.driver.execute_async_script(
        "const done = arguments[0], c = document.querySelector('.stage canvas'), b = c.getBoundingClientRect();"
        "let t = 0; const send = (kind, x, y) => c.dispatchEvent(new PointerEvent(kind, {pointerId: 1, bubbles: true,"
        " clientX: b.left + b.width / 2 + x, clientY: b.top + b.height / 2 + y}));"
        "send('pointerdown', 0, 0);"
        "const step = () => { t += 1; send('pointermove', 150 * Math.sin(t / 9), 120 * Math.sin(t / 7));"
        " t < 60 ? requestAnimationFrame(step) : (send('pointerup', 0, 0), done()) }; step();"
    )
    frames = page.run("return kappagcnView.frameMilliseconds()")
    state = page.state()
    page.rest()
    numbers = {"median": statistics.median(frames), "worst": max(frames), "script": state["drawMilliseconds"]}
    print("5000 nodes, 7000 edges, milliseconds:", json.dumps(numbers), "edges while moving:", round(state["budget"]))
    assert page.state()["drawn"] > drawn + 30
    assert np.abs(page.at() - before).max() > 0.1
    assert page.errors() == []


def test_a_ring_on_a_sphere_is_seen_from_the_side(page, folder):
    angles = 2 * np.pi * np.arange(60) / 60
    unit = np.column_stack([np.cos(angles), np.zeros(60), np.sin(angles)])  # a great circle through the origin
    half = np.arccos(np.clip(unit[:, 2], -1, 1)) / 2
    tangent = np.column_stack([np.sign(unit[:, 0]) * half, np.zeros(60)])
    tangent = np.concatenate([tangent, tangent[[40, 40, 40]]])  # somewhat more nodes on one side
    run = save_run(folder / "ring", embedded(tangent, [2], [1.0], np.column_stack([np.arange(59), np.arange(1, 60)])))
    page.open(write_report(run, folder / "ring.html"))
    wide, high = np.ptp(page.at()[:, :2], axis=0)
    assert wide > 1.9
    assert 0.6 < high < 1.4  # neither a line nor the outline of the ball
    assert page.at()[40, 2] > 0  # which is in front
