import numpy as np
import pytest

from kappagcn import GraphEmbedder
from kappagcn.embedding.film_recorder import RAW, FilmRecorder, frames_per_doubling
from kappagcn.graphs import balanced_tree
from kappagcn.run_folder import SavedRun
from kappagcn.view.film import read_film

TREE = balanced_tree(3, 2)


def embedder(epochs, **more):
    return GraphEmbedder("S2(0.3)", epochs=epochs, intervals=False, verbose=False, **more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("film") / "run"
    return embedder(60).fit(TREE, folder=folder), SavedRun(folder)


def test_a_film_goes_from_the_start_to_the_result(whole):
    fitted, run = whole
    film = read_film(run)
    assert film.epochs[0] == 0
    assert film.epochs[-1] == fitted.result_.best_epoch
    assert (np.diff(film.epochs) > 0).all()
    assert film.epochs[:17].tolist() == list(range(17))  # dense at first
    assert np.diff(film.epochs[:-1])[-1] >= 2  # then sparser
    assert film.curvatures[0, 0] == pytest.approx(0.3, rel=1e-5)
    assert film.curvatures[-1, 0] == pytest.approx(fitted.curvatures_[0], rel=1e-5)
    assert np.allclose(film.tangent[-1], fitted.tangent_, rtol=1e-5)
    assert np.abs(film.tangent[0] - film.tangent[-1]).max() > 0.1
    history = {each["epoch"]: each["distortion"] for each in fitted.history_}
    assert film.values[5] == pytest.approx(history[int(film.epochs[5])], rel=1e-5)


def test_a_finished_run_keeps_its_film_alone_and_an_extended_one_continues_it(whole, tmp_path):
    embedder(20).fit(TREE, folder=tmp_path / "run")
    assert (tmp_path / "run" / "film.npz").exists()
    assert not (tmp_path / "run" / RAW).exists()
    embedder(60).fit(TREE, folder=tmp_path / "run", resume=True)
    again, film = read_film(SavedRun(tmp_path / "run")), read_film(whole[1])
    assert np.array_equal(again.epochs, film.epochs)
    assert np.allclose(again.tangent, film.tangent, atol=1e-5)
    assert np.allclose(again.curvatures, film.curvatures, atol=1e-5)


def test_a_killed_run_has_the_same_film_when_it_is_resumed(whole, tmp_path, monkeypatch):
    def killed(recorder, record):
        own(recorder, record)
        if record["epoch"] == 20:
            raise RuntimeError

    own = FilmRecorder.__call__
    monkeypatch.setattr(FilmRecorder, "__call__", killed)
    with pytest.raises(RuntimeError):
        embedder(60).fit(TREE, folder=tmp_path / "run")
    monkeypatch.undo()
    with (tmp_path / "run" / RAW).open("ab") as file:
        file.write(b"cut")  # a kill in the middle of a frame
    embedder(60).fit(TREE, folder=tmp_path / "run", resume=True)
    again, film = read_film(SavedRun(tmp_path / "run")), read_film(whole[1])
    assert np.array_equal(again.epochs, film.epochs)
    assert np.allclose(again.tangent, film.tangent, atol=1e-5)


def test_another_unit_of_length_is_that_of_the_result(tmp_path):
    longer = TREE.clone()
    longer.edge_weight = 5.0 * longer.edge_index[0].new_ones(longer.num_edges).float()
    fitted = embedder(5).fit(longer, folder=tmp_path / "run")
    film = read_film(SavedRun(tmp_path / "run"))
    assert np.allclose(film.tangent[-1], fitted.tangent_, rtol=1e-5)
    assert film.curvatures[-1, 0] == pytest.approx(fitted.curvatures_[0], rel=1e-4)


def test_ranks_have_no_unit_and_their_frames_get_that_of_the_result(tmp_path):
    fitted = embedder(12, objective="neighbours").fit(TREE, folder=tmp_path / "run")
    film = read_film(SavedRun(tmp_path / "run"))
    assert film.curvatures[-1, 0] == pytest.approx(fitted.curvatures_[0], rel=1e-5)
    steps = np.abs(np.diff(film.curvatures[:, 0]))
    assert steps[-1] <= 10 * np.median(steps) + 1e-3  # the last frame goes on from those before it
    assert np.linalg.norm(film.tangent[-1]) == pytest.approx(np.linalg.norm(film.tangent[-2]), rel=0.5)


def test_large_graphs_keep_fewer_frames_or_none():
    counts = [frames_per_doubling(numbers) for numbers in (10, 10**4, 10**5)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0
