"""The film of training in a real browser."""

import numpy as np
import pytest

from kappagcn.view.film import read_film
from kappagcn.view.report import write_report
from report_runs import film_run


@pytest.fixture(scope="module")
def film(folder):
    run = film_run(folder / "film")
    return run, write_report(run, folder / "film.html")


def slide(page, place):
    page.run(
        "const s = document.getElementById('film-slider'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
        place,
    )
    page.rest()


def test_the_slider_goes_from_sphere_to_disk_with_kappa_and_distortion(page, film):
    page.open(film[1])
    result = page.at()
    kinds, words = [], []
    for place in range(5):
        slide(page, place)
        kinds.append(page.state()["kind"])
        words.append(page.text("#film-words"))
    assert kinds == ["sphere", "sphere", "disk", "disk", "disk"]
    assert words[1] == "epoch 10 of 50 · κ = 0.12 · distortion 0.82"
    assert "sphere" in page.run(
        "const s = document.getElementById('film-slider'); s.value = 0;"
        "s.dispatchEvent(new Event('input')); return document.querySelector('figcaption').textContent"
    )
    slide(page, 5)
    assert np.array_equal(page.at(), result)  # the result, to move about in
    assert page.errors() == []


def test_points_between_frames_are_where_both_say(page, film):
    page.open(film[1])
    made = read_film(film[0])
    slide(page, 2.5)
    k = float(made.curvatures[2:4].mean())
    v = made.tangent[2:4].astype(float).mean(0)
    size = np.linalg.norm(v, axis=1, keepdims=True)
    expected = np.divide(v, size, out=np.zeros_like(v), where=size > 0) * np.tanh((-k) ** 0.5 * size)
    assert np.allclose(page.at(), expected, atol=1e-4)  # frames have 16 bits


def test_it_plays_and_pauses(page, film):
    page.open(film[1])
    page.button("#film-play")
    page.driver.execute_async_script("const done = arguments[0]; setTimeout(done, 400)")
    page.button("#film-play")
    place = float(page.run("return document.getElementById('film-slider').value"))
    assert 0 < place < 5
    assert page.text("#film-play") == "Play"
    page.rest()
    assert float(page.run("return document.getElementById('film-slider').value")) == place


def test_runs_without_a_film_have_no_slider(page, tree):
    page.open(tree[1])
    assert page.run("return document.getElementById('film').hidden")
