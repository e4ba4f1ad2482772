import numpy as np
import pytest
from PIL import Image

from figure_runs import embedded
from kappagcn.run_folder import Embedded, SavedRun, save_embedded, save_json
from kappagcn.view.figures.panels import draw_embeddings, draw_thumbnail


@pytest.mark.parametrize("dims", [(2,), (2, 2, 2), (5,)])
def test_a_thumbnail_is_a_small_square_with_something_on_it(tmp_path, dims):
    save_embedded(tmp_path / "embedding.npz", embedded(dims, nodes=30))
    for name in ("config.json", "summary.json"):
        save_json(tmp_path / name, {})
    path = draw_thumbnail(SavedRun(tmp_path), tmp_path / "small.png", theme="dark", size=160)
    with Image.open(path) as image:
        assert image.size == (160, 160)
        colours = np.asarray(image.convert("RGB")).reshape(-1, 3)
    assert len(np.unique(colours, axis=0)) > 10
    assert path.stat().st_size < 50_000


def test_every_geometry_is_drawn_beside_the_others(tmp_path):
    panels = []
    for k in (-1.0, 0.0, 0.5):
        placed = embedded((2,), nodes=6)
        panels.append((f"κ = {k}", Embedded(**{**vars(placed), "curvatures": np.array([k])})))
    picture = np.asarray(Image.open(draw_embeddings(panels, tmp_path / "all.png")).convert("L"))
    thirds = picture.reshape(picture.shape[0], 3, -1)
    assert (thirds < 240).any(axis=0).any(axis=-1).all()  # ink in each panel
