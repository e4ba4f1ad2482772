"""The paper's figures, and the records that some are drawn from."""

import json
import math

import numpy as np
import pytest
import torch
from matplotlib import image
from matplotlib.colors import to_rgb

from kappagcn.errors import CheckpointError
from kappagcn.geometry import dist, dist2plane
from kappagcn.graphs import load_graph
from kappagcn.paper.figures import computed, measured
from kappagcn.paper.figures.catalogue import FIGURES, draw_paper_figure
from kappagcn.paper.figures.measured import COMMANDS, SHOWN
from kappagcn.view.figures.space import arcs
from kappagcn.view.figures.style import DARK, LIGHT, save, styled

MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml"}
SPREAD = {"bins": [-0.5, -0.1, 0.1, 0.5], "counts": [3, 2, 4], "none": 1, "mean": 0.05}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Small records of every kind."""
    folder = tmp_path_factory.mktemp("records")
    arrays = {"nodes": 10, "edges": 12, "degrees": {"1": 4, "2": 5, "10": 1}, "curvature": SPREAD}
    datasets = dict.fromkeys(("citeseer", "cora_ml", "pubmed", "airport"), arrays)
    write(folder / "histograms.json", [{"datasets": datasets}])
    spaces = {"E10": 0.06} | {f"U10({k})": 0.06 + 0.01 * k for k in (-5.0, -1.0, -0.01, 0.0, 0.01, 1.0, 5.0)}
    lines = [{"embedding": {"space": space}, "distortion": value} for space, value in spaces.items()]
    write(folder / "sweep.jsonl", [*lines, {"failed": "diverged"}])
    runs = []
    for graph, space in SHOWN:
        embedding = {"graph": graph, "space": space, "method": "kappa-gcn", "start": "graph"}
        path = [[1, 0.1, 0.1], [500, -0.05, 0.1], [1000, -0.1, 0.09]]
        other = {"embedding": embedding | {"start": "paper"}, "curvature_path": [[1, 9.0, 9.0]]}
        runs += [other, {"embedding": embedding, "curvature_path": path}]
    write(folder / "table1.jsonl", runs)
    return folder


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"cut sho')


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_the_same_each_time(name, records, tmp_path):
    one, two = (draw_paper_figure(name, tmp_path / n, records, ["dark"], ["svg"])[0] for n in ("one", "two"))
    assert one.name == two.name == f"{name}-dark.svg"
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes().startswith(MAGIC[".svg"])
    assert b"<dc:date>" not in one.read_bytes()
    assert len(one.read_bytes()) < 2**21
    assert FIGURES[name].title


def test_themes_differ(tmp_path):
    written = draw_paper_figure("weighted", tmp_path, tmp_path)
    assert [path.name for path in written] == [f"weighted-{t}.{f}" for t in ("light", "dark") for f in ("png", "svg")]
    assert all(path.read_bytes().startswith(MAGIC[path.suffix]) for path in written)
    corners = [image.imread(path)[0, 0, :3] for path in written[::2]]
    np.testing.assert_allclose(corners, [to_rgb(theme.background) for theme in (LIGHT, DARK)], atol=0.01)


@pytest.mark.parametrize("name", [name for name, each in FIGURES.items() if each.records])
def test_missing_records_name_the_command_that_makes_them(name, tmp_path):
    with pytest.raises(CheckpointError, match=f"found no file. `{COMMANDS[FIGURES[name].records]}` makes them"):
        draw_paper_figure(name, tmp_path / "out", tmp_path)
    assert not (tmp_path / "out").exists()


def test_records_that_are_not_what_they_should_be(tmp_path):
    for text, result in (("[1]", "expected a record"), ('{"datasets": {"citeseer": {}}}', "found no cora_ml")):
        (tmp_path / "histograms.json").write_text(f"{text}\n")
        with pytest.raises(CheckpointError, match=result):
            draw_paper_figure("degrees", tmp_path, tmp_path)


def circle(points):
    """Centre and squared radius of the circle through the first, middle and last of some points."""
    a, b, c = points[0], points[len(points) // 2], points[-1]
    centre = torch.linalg.solve(2 * torch.stack([b - a, c - a]), torch.stack([b @ b - a @ a, c @ c - a @ a]))
    return centre, (a - centre) @ (a - centre)


@pytest.mark.parametrize("k", [-1.0, 1.0])
def test_geodesics_are_the_right_circles(k):
    for curve in [*computed.pencil(k), computed.other(k)]:
        part = curve[240:481]  # off infinity on the sphere
        centre, square = circle(part)
        torch.testing.assert_close((part - centre).square().sum(-1), square.expand(len(part)), rtol=1e-6, atol=1e-6)
        # |c|² = r² + 1: at right angles to the rim. |c|² = r² − 1: through antipodes of the equator.
        assert float(centre @ centre - square) == pytest.approx(-k, abs=1e-6)


def test_edges_of_the_disk_meet_its_rim_at_right_angles():
    points, _, edges = computed.fan(3, -1.0)
    curves = arcs(points[edges[:, 0]], points[edges[:, 1]], k=-1.0)
    torch.testing.assert_close(curves[:, 0], points[edges[:, 0]])
    torch.testing.assert_close(curves[:, -1], points[edges[:, 1]])
    bent = [curve for curve in curves if abs(torch.linalg.det(torch.stack([curve[0], curve[-1]]))) > 1e-3]
    assert len(bent) > 10
    for curve in bent:
        centre, square = circle(curve)
        assert float(centre @ centre - square) == pytest.approx(1, abs=1e-6)


def test_the_great_circle_meets_the_equator_where_it_is_marked():
    gap = (computed.other(1.0) - computed.across(1.0)).norm(dim=-1).min()
    assert gap < 0.01


def test_trees_run_out_of_room_in_the_plane_alone():
    flat, disk = ([computed.leaf_distance(computed.fan(d, k)[0], d, k) for d in computed.DEPTHS] for k in (0.0, -1.0))
    assert flat == sorted(flat, reverse=True)
    assert disk == sorted(disk)
    for d, arrays in zip(computed.DEPTHS, flat, strict=True):
        assert arrays == pytest.approx(2 * d * math.sin(math.pi / computed.BRANCHING**d))
        points, levels, edges = computed.fan(d, -1.0)
        assert len(edges) == len(points) - 1
        assert (levels[edges[:, 0]] == levels[edges[:, 1]] + 1).all()
        assert len(computed.way_up(len(points) - 1, edges)) == d


@pytest.mark.parametrize("k", computed.CURVATURES)
def test_colours_are_the_distances(k):
    x = computed.SEEN_FROM
    side, grid = computed.field(lambda y: dist(x, y, k=k), k, 2.0, pixels=50)
    for row, column in [(20, 30), (35, 10), (25, 25)]:
        y = torch.tensor([side[column], side[row]])
        assert grid[row, column] == pytest.approx(float(dist(x, y, k=k)))
    assert np.isfinite(grid).all()


def test_the_picture_shows_the_field_the_right_way_up():
    with styled(LIGHT):
        figure = computed.hyperplanes(LIGHT)
    for axis, k in zip(figure.axes, computed.CURVATURES, strict=False):
        (shown,) = axis.images
        left, right, bottom, top = shown.get_extent()
        grid = shown.get_array()
        for x, y in ((1.0, 0.5), (-0.5, -1.2)):
            row, column = (int((v - a) / (b - a) * len(grid)) for v, a, b in ((y, bottom, top), (x, left, right)))
            there = dist2plane(torch.tensor([x, y]).double(), computed.ON_PLANE, computed.NORMAL, k=k)
            assert grid[row, column] == pytest.approx(float(there), abs=0.05)
        assert shown.origin == "lower"


@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_weighted_midpoints_run_along_the_geodesic(k):
    x, y = computed.TWO[k]
    points = computed.weighted_points(k)
    torch.testing.assert_close(points[[0, -1]], computed.TWO[k])
    there = dist(x, points, k=k)
    torch.testing.assert_close(there + dist(points, y, k=k), dist(x, y, k=k).expand(21))
    assert (there.diff() > 0).all()
    quarter = float(there[5] / there[-1])
    assert math.copysign(1, round(0.25 - quarter, 9)) == k if k else quarter == pytest.approx(0.25)


def draw_sweep(kappas, distortion, flat, path):
    with styled(LIGHT) as look:
        return save(measured.draw_sweep((kappas, distortion), flat, (kappas, distortion), look), path)


def test_the_curve_is_where_its_numbers_are(tmp_path):
    kappas = np.linspace(-5, 5, 50)
    rising = image.imread(draw_sweep(kappas, 0.1 + 0.05 * (kappas + 5), 0.3, tmp_path / "up.png"))
    falling = image.imread(draw_sweep(kappas, 0.1 + 0.05 * (5 - kappas), 0.3, tmp_path / "down.png"))
    blue = [(p[..., 2] > 0.6) & (p[..., 0] < 0.2) for p in (rising, falling)]  # the curve, not the reference
    middle = rising.shape[1] // 2
    heights = [[np.nonzero(half)[0].mean() for half in (b[:, :middle], b[:, middle:])] for b in blue]
    assert heights[0][0] > heights[0][1] + 50, "rows count from the top: a rising curve is lower on the left"
    assert heights[1][1] > heights[1][0] + 50


def test_every_node_is_counted_once_and_the_record_is_made_once(tmp_path, monkeypatch):
    asked = []

    def graph(name, root):
        asked.append((name, root))
        return load_graph("karate")

    monkeypatch.setattr(measured, "load_graph", graph)
    path = measured.histograms(tmp_path, "data")
    arrays = json.loads(path.read_text())
    assert path == tmp_path / "histograms.json"
    assert list(arrays["datasets"]) == ["citeseer", "cora_ml", "pubmed", "airport"]
    assert {"seed", "versions", "machine"} < set(arrays)
    for result in arrays["datasets"].values():
        spread = result["curvature"]
        assert sum(result["degrees"].values()) == result["nodes"] == 34
        assert sum(int(d) * n for d, n in result["degrees"].items()) == 2 * result["edges"] == 156
        assert sum(spread["counts"]) + spread["none"] == 34
        assert len(spread["bins"]) == len(spread["counts"]) + 1
        assert spread["bins"] == sorted(spread["bins"])
        middles = [(a + b) / 2 for a, b in zip(spread["bins"], spread["bins"][1:], strict=False)]
        weighted = sum(m * n for m, n in zip(middles, spread["counts"], strict=True)) / sum(spread["counts"])
        assert weighted == pytest.approx(spread["mean"], abs=1 / 60)
    assert measured.histograms(tmp_path, "elsewhere") == path
    assert asked == [(name, "data") for name in arrays["datasets"]]


@pytest.mark.parametrize(("draw", "mean"), [(measured.curvatures, "mean 0.050"), (measured.degrees, "mean 2.4")])
def test_histograms_name_the_mean_in_a_legend(records, draw, mean):
    with styled(LIGHT):
        figure = draw(LIGHT, records)
    assert [[text.get_text() for text in axis.get_legend().get_texts()] for axis in figure.axes] == [[mean]] * 4


def test_the_inset_of_the_sweep_says_what_it_shows(records):
    with styled(LIGHT):
        (axis,) = measured.sweep(LIGHT, records).axes
    assert [inset.get_title() for inset in axis.child_axes] == ["close to 0"]
