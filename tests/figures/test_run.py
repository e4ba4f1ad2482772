import json

import numpy as np
import pytest
import torch

from kappagcn.figures.factors import embedding
from kappagcn.figures.outcome import confusion
from kappagcn.figures.plane import best_plane, central_node, depths
from kappagcn.figures.run import draw_run
from kappagcn.figures.sphere import default_view, great_arcs, seen, view_from
from kappagcn.figures.style import LIGHT, styled
from kappagcn.figures.training import curvature_history
from kappagcn.geometry import expmap0, lift, tangent_dist
from kappagcn.run_folder import PARTS, Embedded, SavedRun, save_embedded, save_json

KAPPAS = [-1.0, 0.0, 0.5]


def tree_edges(nodes):
    return np.array([[child, (child - 1) // 3] for child in range(1, nodes)])


def embedded(dims=(2, 2, 3), nodes=40, **more):
    tangent = 0.4 * np.random.default_rng(0).standard_normal((nodes, sum(dims)))
    kappas = np.array(KAPPAS[: len(dims)])
    parts, start = [], 0
    for dim, k in zip(dims, kappas, strict=True):
        parts.append(expmap0(torch.from_numpy(tangent[:, start : start + dim]), k=float(k)).numpy())
        start += dim
    return Embedded(
        tangent=tangent,
        points=np.concatenate(parts, axis=1),
        dims=np.array(dims),
        curvatures=kappas,
        edges=tree_edges(nodes),
        **more,
    )


def labelled(nodes=40):
    rng = np.random.default_rng(1)
    return {
        "labels": rng.integers(-1, 3, nodes),
        "class_names": np.array(["area/one", "area/two", "area/three"]),
        "probabilities": rng.dirichlet([1, 1, 1], nodes),
        "parts": np.full(nodes, PARTS.index("test")),
    }


def saved(folder, told, summary, metrics):
    folder.mkdir()
    save_json(folder / "config.json", {})
    save_json(folder / "summary.json", {"graph": "some tree", "best_epoch": 2} | summary)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in metrics))
    save_embedded(folder / "embedding.npz", told)
    return SavedRun(folder)


@pytest.fixture
def embedding_run(tmp_path):
    ratios = {"ratio_edges": np.linspace(0, 2, 11), "ratio_counts": np.arange(10)}
    told = [{"epoch": e, "train_loss": 1 / e, "distortion": 1 / e, "curvatures": [-4.0, 0, 2.0 * e]} for e in (1, 2, 3)]
    return saved(tmp_path / "run", embedded(**ratios), {"distortion": 0.33, "edge_unit": 2.0}, told)


@pytest.fixture
def classification_run(tmp_path):
    told = [
        {"epoch": e, "train_loss": 1 / e, "stopping_loss": 2 / e, "stopping_accuracy": e / 4, "curvatures": []}
        for e in (1, 2, 3)
    ]
    return saved(tmp_path / "classifier", embedded(**labelled()), {"accuracy": 0.5}, told)


def names(written):
    return sorted(path.name for path in written)


def test_an_embedding_is_drawn(embedding_run, tmp_path):
    written = draw_run(embedding_run, tmp_path / "out", themes=["dark"])
    drawn = [f"{n}-dark.{f}" for n in ("curvature", "distortion", "embedding", "training") for f in ("png", "svg")]
    assert names(written) == drawn
    again = draw_run(embedding_run, tmp_path / "again", themes=["dark"], formats=["svg"])
    for path in again:
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes()


def test_a_classifier_is_drawn_and_what_it_has_no_numbers_for_is_not(classification_run, tmp_path):
    written = draw_run(classification_run, tmp_path / "out", themes=["light"], formats=["png"])
    assert names(written) == ["confusion-light.png", "embedding-light.png", "training-light.png"]


def test_curvatures_are_told_in_the_units_of_the_points(embedding_run):
    epochs, kappas = curvature_history(embedding_run)
    assert epochs == [1, 2, 3]
    np.testing.assert_allclose(kappas, [[-1, 0, 0.5], [-1, 0, 1], [-1, 0, 1.5]])


def test_the_confusion_matrix_has_classes_as_rows(classification_run):
    with styled(LIGHT):
        axis = confusion(LIGHT, classification_run).axes[0]
    counts = classification_run.confusion()
    assert [text.get_text() for text in axis.texts] == [f"{count}" for count in counts.ravel()]
    np.testing.assert_allclose(axis.images[0].get_array(), counts / counts.sum(1, keepdims=True))
    assert [label.get_text() for label in axis.get_yticklabels()] == ["one", "two", "three"]


@pytest.mark.parametrize("k", KAPPAS)
def test_two_dimensions_are_kept_as_they_are(k):
    tangent = 0.4 * torch.randn(20, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    shown, share = best_plane(tangent, k)
    assert torch.equal(shown, tangent)
    assert share == 1
    turned = torch.linalg.qr(torch.randn(5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)).Q
    shown, share = best_plane(tangent @ turned[:2], k)  # a plane in five dimensions: an isometry
    assert share == pytest.approx(1)
    i, j = torch.triu_indices(20, 20, 1)
    torch.testing.assert_close(tangent_dist(shown[i], shown[j], k=k), tangent_dist(tangent[i], tangent[j], k=k))


def tan_k(r, k):
    s = abs(k) ** 0.5
    return torch.tanh(s * r) / s if k < 0 else torch.tan(s * r) / s if k > 0 else r


@pytest.mark.parametrize("k", KAPPAS)
def test_points_go_to_the_best_plane_at_right_angles(k):
    generator = torch.Generator().manual_seed(0)
    tangent = torch.randn(30, 4, generator=generator, dtype=torch.float64) * torch.tensor([0.05, 0.3, 0.02, 0.2])
    shown, share = best_plane(tangent, k)
    _, sizes, directions = torch.linalg.svd(tangent)
    assert share == pytest.approx(float(sizes[:2].square().sum() / sizes.square().sum()))
    within = (tangent @ directions[:2].T).norm(dim=1) / tangent.norm(dim=1)
    # In a triangle with a right angle, tan_κ(adjacent) = tan_κ(hypotenuse) · cos(angle), whatever κ.
    torch.testing.assert_close(tan_k(2 * shown.norm(dim=1), k), tan_k(2 * tangent.norm(dim=1), k) * within)


def test_globes_hold_their_markers():
    unit = lift(torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64), k=1.0).numpy()
    for view in (default_view(unit), view_from(np.array([0.0, 0.0, -1.0]))):
        np.testing.assert_allclose(view @ view.T, np.eye(3), atol=1e-12)
        flat, depth = seen(unit, view)
        assert np.linalg.norm(flat, axis=1).max() <= 1 + 1e-12
        np.testing.assert_allclose((flat**2).sum(1) + depth**2, 1)
    arcs = great_arcs(unit[:-1], unit[1:])
    np.testing.assert_allclose(np.linalg.norm(arcs, axis=-1), 1)
    steps = np.linalg.norm(np.diff(arcs, axis=1), axis=-1)
    assert np.ptp(steps, axis=1).max() < 1e-9, "evenly along the arc"
    antipodes = great_arcs(unit[:1], -unit[:1])
    assert np.isfinite(antipodes).all()


def test_drawn_nodes_are_where_they_were_embedded():
    told = embedded()
    with styled(LIGHT):
        figure = embedding(LIGHT, told, "title")
    disk, plane, globe = figure.axes[:3]
    for axis, columns in ((disk, slice(0, 2)), (plane, slice(2, 4))):
        drawn = np.concatenate([each.get_offsets() for each in axis.collections if len(each.get_offsets()) > 1])
        np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(told.points[:, columns.start]), atol=1e-9)
    assert "shows" in globe.get_title()
    assert "κ = −1" in disk.get_title()


def test_the_middle_of_a_graph_and_depths_from_it():
    edges = tree_edges(40)  # three children each: the root is the middle
    assert central_node(edges, 40) == 0
    assert depths(edges, 42, 0).tolist()[39:] == [3, np.inf, np.inf]


@pytest.mark.parametrize("dims", [(1,), (2,), (2, 2, 2)])
def test_odd_graphs_are_drawn(dims, tmp_path):
    told = embedded(dims, nodes=3)
    alone = Embedded(**{**vars(told), "edges": np.zeros((0, 2), np.int64)})
    with styled(LIGHT):
        for each in (told, alone):
            embedding(LIGHT, each, "few").savefig(tmp_path / "few.png")
