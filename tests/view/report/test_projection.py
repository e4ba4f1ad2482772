"""Where the page's script puts points and how far apart it takes them to be, against the geometry package."""

import numpy as np
import pytest
import torch

from kappagcn.geometry import dist, expmap0, to_ambient
from kappagcn.view.report import write_report
from report_runs import embedded, save_run

V = np.random.default_rng(0).normal(size=(50, 2))
NO_EDGES = np.zeros((0, 2), int)


def opened(page, folder, name, tangent, dims, curvatures):
    run = save_run(folder / name, embedded(tangent, dims, curvatures, NO_EDGES))
    page.open(write_report(run, folder / f"{name}.html"))
    # The isometry that puts the mean point in the middle is undone.
    identity = "0.01 0 0 1 0 0 0" if max(curvatures) <= 0 else "0.01 0 0 1 0 0 0 1 0 0 0 1"
    page.run("location.hash = '#v0=' + arguments[0].replaceAll(' ', '+')", identity)
    page.rest()
    return page.at()


@pytest.mark.parametrize("k", [-1.0, -0.3])
def test_two_dimensions_stay_as_they_are_in_the_disk(page, folder, k):
    at = opened(page, folder, f"disk{k}", V, [2], [k])
    assert np.allclose(at, expmap0(torch.as_tensor(V), k=k).numpy() * (-k) ** 0.5, atol=1e-9)


def test_two_dimensions_stay_as_they_are_on_the_sphere(page, folder):
    at = opened(page, folder, "sphere", V, [2], [0.25])
    lifted = to_ambient(expmap0(torch.as_tensor(V), k=0.25), k=0.25).numpy()
    assert np.allclose(at, lifted * [0.5, 0.5, 1], atol=1e-9)


@pytest.mark.parametrize("k", [-0.7, 0.6])
def test_more_dimensions_are_projected_along_geodesics(page, folder, k):
    """The lift without its third coordinate, brought back; the columns already are principal directions."""
    v = np.linalg.qr(np.random.default_rng(1).normal(size=(40, 3)))[0] * [5, 3, 1]
    s, r = abs(k) ** 0.5, 2 * np.linalg.norm(v, axis=1)
    sine, cosine = (np.sinh, np.cosh) if k < 0 else (np.sin, np.cos)
    first = v[:, :2] / np.linalg.norm(v, axis=1)[:, None] * sine(s * r)[:, None]
    last = cosine(s * r)
    size = np.sqrt(last**2 + np.sign(k) * (first**2).sum(1))
    expected = np.column_stack([first, last]) / size[:, None] if k > 0 else first / (last + size)[:, None]
    at = opened(page, folder, f"wide{k}", v, [3], [k])
    assert np.allclose(np.abs(at), np.abs(expected), atol=1e-9)


@pytest.mark.parametrize(
    ("dims", "curvatures"), [([2], [-1.3]), ([3], [0.4]), ([2], [0.0]), ([2, 3, 1], [-0.7, 0.5, 0.0])]
)
def test_distances_are_those_of_the_geometry(page, folder, dims, curvatures):
    v = 0.8 * np.random.default_rng(3).normal(size=(12, sum(dims)))
    made = embedded(v, dims, curvatures, NO_EDGES)
    total = 0
    for k, part in made.factors:
        x = expmap0(torch.as_tensor(v[:, part]), k=k)
        total = total + dist(x[:, None], x[None], k=k) ** 2
    run = save_run(folder / "distances", made)
    page.open(write_report(run, folder / "distances.html"))
    pairs = "return [...Array(12).keys()].map((i) => [...Array(12).keys()].map((j) => kappagcnView.distance(i, j)))"
    assert np.allclose(page.run(pairs), total.sqrt().numpy(), rtol=1e-7, atol=1e-7)


def test_points_far_out_are_finite(page, folder):
    v = np.array([[400.0, 0], [400, 1], [-400, 0], [0, 0]])
    at = opened(page, folder, "farther", v, [2], [-1.0])
    assert np.isfinite(at).all()
    assert (np.linalg.norm(at, axis=1) <= 1).all()
    lengths = page.run("return [0, 1, 2, 3].map((i) => kappagcnView.distance(0, i))")
    assert lengths[3] == pytest.approx(800)
    assert page.errors() == []


def test_a_curvature_that_cannot_be_seen_is_drawn_flat(page, folder):
    opened(page, folder, "flat", V, [2], [-1e-9])
    assert page.state()["kind"] == "plane"
