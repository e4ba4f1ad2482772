"""Trials of starts by successive halving."""

import signal
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from kappagcn import GraphEmbedder
from kappagcn.distributed import Communicator
from kappagcn.embedding import run as embedding_run
from kappagcn.embedding.run import EmbeddingRun
from kappagcn.embedding.trials import Trial, best_trial
from kappagcn.errors import CheckpointError, ConfigError
from kappagcn.graphs import balanced_tree, path
from kappagcn.run_folder import SavedRun
from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.stopping import EarlyStopping
from kappagcn.view.film import read_film

TREE = balanced_tree(3, 2)


class Falling:
    """A trainer whose losses are listed, and which is over after the last of them."""

    model, solved, seconds, communicator = None, False, 0.0, Communicator()
    task = SimpleNamespace(watched=lambda record: (record["loss"], 0.0))

    def __init__(self, losses):
        self.losses, self.epoch, self.stopping = losses, 0, EarlyStopping(1000)

    def is_over(self):
        return self.epoch == len(self.losses)

    def run_epoch(self):
        self.epoch += 1
        self.stopping.update(self.epoch, self.losses[self.epoch - 1], 0.0)
        return {"epoch": self.epoch, "loss": self.losses[self.epoch - 1]}


def falling(rate, start=1.0, floor=0.0):
    return Falling([floor + start * rate**epoch for epoch in range(100)])


def test_the_expected_loss_falls_as_in_the_second_half():
    trial = Trial(falling(0.9))
    trial.run(10)
    assert trial.expected(10) == pytest.approx(0.9**14)
    trial.run(20)
    assert trial.expected(10) == pytest.approx(0.9**14), "as it was then"
    ended = Trial(Falling([3.0, 1.0]))
    ended.run(10)
    assert ended.expected(10) == 1.0, "nothing more is expected of training that is over"


def test_a_start_that_falls_later_and_lower_is_chosen():
    early, late = falling(0.5, floor=0.5), falling(0.9, start=1.2)
    assert best_trial([Trial(early), Trial(late)], 8, 8).trainer is late
    assert early.epoch == late.epoch == 8, "one of two is left after the first comparison"
    assert early.stopping.lowest_loss < late.stopping.lowest_loss


def test_the_lowest_continues_though_others_fall_faster_at_first():
    """Two that fall fast to 0.5, and one that is lower and falls on."""
    fast, other = (falling(0.4, start=start, floor=0.5) for start in (1.6, 1.7))
    steady = Falling([0.65 - 0.03 * epoch for epoch in range(20)])
    trials = [Trial(trainer) for trainer in (fast, other, steady)]
    for trial in trials:
        trial.run(4)
    assert max(trials, key=lambda trial: trial.expected(4)).trainer is steady
    assert min(trials, key=lambda trial: trial.trainer.stopping.lowest_loss).trainer is steady
    assert best_trial(trials, 4, 100).trainer is steady


def test_half_of_the_trials_continue_for_twice_as_many_epochs():
    trainers = [falling(rate) for rate in (0.95, 0.8, 0.9, 0.99, 0.85)]
    assert best_trial(map(Trial, trainers), 5, 100).trainer is trainers[1]
    assert [trainer.epoch for trainer in trainers] == [5, 20, 10, 5, 20]


def test_trials_take_no_more_epochs_than_they_may():
    trainers = [falling(rate) for rate in (0.95, 0.8, 0.9, 0.99, 0.85)]
    assert best_trial(map(Trial, trainers), 5, 9).trainer is trainers[1]
    assert {trainer.epoch for trainer in trainers} == {5}


def test_training_continues_from_the_trial_to_the_same_numbers_as_from_the_start(monkeypatch):
    started, own = [], EmbeddingRun._trainer
    monkeypatch.setattr(EmbeddingRun, "_trainer", lambda run, start: started.append((run, start)) or own(run, start))
    embedder = GraphEmbedder("H2", epochs=150, verbose=False, intervals=False).fit(TREE)
    assert len(started) >= 3
    assert [record["epoch"] for record in embedder.history_] == list(range(1, embedder.result_.epochs + 1))
    ends = []
    for run, start in started:
        whole = Trial(own(run, start))
        whole.run(150)
        ends.append([record["distortion"] for record in whole.history])
    assert [record["distortion"] for record in embedder.history_] in ends
    assert embedder.result_.resumed_after == 0
    assert embedder.result_.seconds > 0


def test_the_film_of_a_chosen_space_begins_at_its_start(tmp_path):
    fitted = GraphEmbedder("auto", dim=2, epochs=120, verbose=False, intervals=False).fit(TREE, folder=tmp_path / "run")
    film = read_film(SavedRun(tmp_path / "run"))
    assert film.epochs[:17].tolist() == list(range(17))
    assert film.epochs[-1] == fitted.result_.best_epoch
    history = {each["epoch"]: each["distortion"] for each in fitted.history_}
    assert film.values[5] == pytest.approx(history[5], rel=1e-5)
    assert np.allclose(film.tangent[-1], fitted.tangent_, rtol=1e-5)
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == fitted.result_.epochs


def test_a_run_that_ends_within_its_trial_has_a_film_and_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding_run, "TRIAL", 400)
    fitted = GraphEmbedder("S1", epochs=401, verbose=False, intervals=False).fit(path(3), folder=tmp_path / "run")
    assert fitted.result_.epochs < 400
    assert read_film(SavedRun(tmp_path / "run")).epochs[-1] == fitted.result_.best_epoch
    assert fitted.summary()["seconds"] is not None


def stop_after(monkeypatch, count):
    """Ctrl-C in the epoch with this number, counted over all trials; returns the list of epochs that were run."""
    epochs, step = [], QuasiNewtonTrainer.run_epoch

    def counted(trainer):
        epochs.append(trainer.epoch)
        if len(epochs) == count:
            signal.raise_signal(signal.SIGINT)
        return step(trainer)

    monkeypatch.setattr(QuasiNewtonTrainer, "run_epoch", counted)
    return epochs


@pytest.fixture(scope="module", params=[{"space": "H2"}, {"space": "auto", "dim": 1}], ids=["H2", "auto"])
def whole(request, tmp_path_factory):
    """An embedder whose starts were tried, and the number of epochs of all trials."""
    with pytest.MonkeyPatch.context() as patched:
        epochs = stop_after(patched, -1)
        embedder = GraphEmbedder(**request.param, epochs=150, verbose=False, intervals=False)
        embedder.fit(TREE, folder=tmp_path_factory.mktemp("trials") / "run")
    return embedder, len(epochs)


@pytest.mark.parametrize("count", [1, 100, -10])
def test_interrupted_trials_keep_the_best_and_are_continued_to_the_same_numbers(whole, count, tmp_path, monkeypatch):
    """In the first epoch, amid the trials, and, counted from the end, late."""
    (embedder, all_epochs), folder = whole, tmp_path / "run"
    early, count = count > 0, count % all_epochs
    stop_after(monkeypatch, count)
    with pytest.raises(KeyboardInterrupt, match="resume=True continues"):
        clone(embedder).fit(TREE, folder=folder)
    monkeypatch.undo()
    assert (folder / "trials").is_dir() or not early
    loaded = GraphEmbedder.load(folder)
    assert loaded.summary()["stopped_by"] == "interrupted"
    assert loaded.embedding_.shape == embedder.embedding_.shape
    assert len(loaded.history_) == loaded.result_.epochs <= count
    assert read_film(SavedRun(folder)).epochs[-1] == loaded.result_.best_epoch
    epochs = stop_after(monkeypatch, -1)
    resumed = clone(embedder).fit(TREE, folder=folder, resume=True)
    assert np.array_equal(resumed.embedding_, embedder.embedding_)
    assert [each["distortion"] for each in resumed.history_] == [each["distortion"] for each in embedder.history_]
    assert resumed.choice_ == embedder.choice_
    assert len(epochs) == all_epochs - count, "no epoch is run twice"
    assert not (folder / "trials").exists()


def test_a_folder_with_a_run_is_refused_before_any_work(tmp_path, monkeypatch):
    GraphEmbedder("E1", epochs=2, verbose=False).fit(TREE, folder=tmp_path / "run")
    monkeypatch.setattr("kappagcn.embedding.embedder.EmbeddingRun", lambda *_: pytest.fail("distances were computed"))
    with pytest.raises(CheckpointError, match="holds a run already"):
        GraphEmbedder("H2", verbose=False).fit(TREE, folder=tmp_path / "run")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="expected a folder for the run, found a file"):
        GraphEmbedder("H2", verbose=False).fit(TREE, folder=tmp_path / "file")


def test_every_trial_is_shown(capsys):
    GraphEmbedder("H2", epochs=120, intervals=False).fit(TREE)
    shown = capsys.readouterr().err
    for place in (1, 2, 3):
        assert f"start {place} of 4: distortion " in shown
    assert "after 30 epochs" in shown


def test_a_run_that_is_refused_leaves_no_folder(tmp_path):
    with pytest.raises(ConfigError, match="lr: expected auto for points on all pairs"):
        GraphEmbedder("H2", lr=0.5, verbose=False).fit(TREE, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()
