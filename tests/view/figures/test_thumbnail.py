import numpy as np
import pytest
from PIL import Image

from figure_runs import embedded
from kappagcn.run_folder import SavedRun, save_embedded, save_json
from kappagcn.view.figures.thumbnail import draw_thumbnail


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
