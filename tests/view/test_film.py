import numpy as np
import pytest

from kappagcn.errors import CheckpointError
from kappagcn.run_folder import Embedded, SavedRun, save_embedded, save_json
from kappagcn.view.film import Film, read_film, save_film


def film(frames=5, nodes=3):
    rng = np.random.default_rng(0)
    return Film(np.arange(frames), np.ones(frames), np.ones((frames, 1)), rng.normal(size=(frames, nodes, 2)))


@pytest.fixture
def run(tmp_path):
    points = np.zeros((3, 2))
    save_embedded(
        tmp_path / "embedding.npz", Embedded(points, points, np.array([2]), np.ones(1), np.zeros((0, 2), int))
    )
    for name in ("config.json", "summary.json"):
        save_json(tmp_path / name, {})
    return SavedRun(tmp_path)


def test_a_film_is_read_as_it_was_written(run):
    assert read_film(run) is None
    save_film(run.path, film())
    assert np.array_equal(read_film(run).tangent, film().tangent)
    save_film(run.path, film(nodes=4))
    assert read_film(run) is None  # of another embedding


def test_thinned_films_keep_both_ends():
    assert film(frames=9).every(4).epochs.tolist() == [0, 4, 8]
    assert film(frames=8).every(4).epochs.tolist() == [0, 4, 7]


def test_a_damaged_film_is_refused_in_one_line(run):
    (run.path / "film.npz").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(CheckpointError, match="positions along training"):
        read_film(run)
    with pytest.raises(ValueError, match="frames"):
        Film(np.arange(2), np.ones(2), np.ones((2, 1)), np.ones((3, 1, 2)))
