import numpy as np
import pytest
from PIL import Image

from kappagcn.errors import ConfigError
from kappagcn.run_folder import Embedded, SavedRun, save_embedded, save_json
from kappagcn.view.figures import film as film_module
from kappagcn.view.figures.film import draw_film
from kappagcn.view.film import Film, save_film


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(film_module, "IMAGES", 6)
    monkeypatch.setattr(film_module, "LAST", 1)
    angles = np.linspace(0, 2 * np.pi, 6, endpoint=False)
    ring = 0.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    edges = np.column_stack([np.arange(5), np.arange(1, 6)])
    save_embedded(tmp_path / "embedding.npz", Embedded(2 * ring, 2 * ring, np.array([2]), -np.ones(1), edges))
    for name in ("config.json", "summary.json"):
        save_json(tmp_path / name, {})
    kappas = np.array([[0.5], [0.0], [-1.0]])
    save_film(
        tmp_path, Film(np.arange(3), np.array([np.nan, 0.5, 0.1]), kappas, np.stack([ring, 1.5 * ring, 2 * ring]))
    )
    return SavedRun(tmp_path)


@pytest.mark.parametrize("kind", ["gif", "webp"])
def test_a_film_has_its_pictures_one_after_the_other(run, tmp_path, kind):
    path = draw_film(run, tmp_path / f"film.{kind}", theme="dark")
    with Image.open(path) as film:
        assert film.n_frames > 4
        first = np.asarray(film.convert("RGB")).astype(int)
        film.seek(film.n_frames - 1)
        last = np.asarray(film.convert("RGB")).astype(int)
    assert first.shape == (464, 400, 3)
    changed = np.abs(first - last).max(-1) > 40
    assert changed[:400].mean() > 0.01  # the picture
    assert changed[400:].any()  # κ and the distortion


def test_a_run_without_frames_and_other_endings_are_refused(run, tmp_path):
    with pytest.raises(ConfigError, match=r"ends in .gif or .webp, found .mp4"):
        draw_film(run, tmp_path / "film.mp4")
    (run.path / "film.npz").unlink()
    with pytest.raises(ConfigError, match="found none"):
        draw_film(run, tmp_path / "film.gif")
