"""Trials of starts by successive halving."""

import numpy as np
import pytest

from kappagcn import GraphEmbedder
from kappagcn.drawing.film import read_film
from kappagcn.estimators import embedding_run
from kappagcn.estimators.embedding_run import EmbeddingRun
from kappagcn.estimators.trials import Trial, best_trial
from kappagcn.graphs import balanced_tree, path
from kappagcn.run_folder import SavedRun
from kappagcn.training.stopping import EarlyStopping

TREE = balanced_tree(3, 2)


class Falling:
    """A trainer whose losses are listed, and which is over after the last of them."""

    model, solved = None, False

    def __init__(self, losses):
        self.losses, self.epoch, self.stopping = losses, 0, EarlyStopping(1000)

    def is_over(self):
        return self.epoch == len(self.losses)

    def run_epoch(self):
        self.epoch += 1
        self.stopping.update(self.epoch, self.losses[self.epoch - 1], 0.0)
        return {"epoch": self.epoch}


def falling(rate, start=1.0, floor=0.0):
    return Falling([floor + start * rate**epoch for epoch in range(100)])


def test_the_expected_loss_falls_as_in_the_second_half():
    trial = Trial(falling(0.9))
    trial.run(10)
    assert trial.expected == pytest.approx(0.9**14)
    ended = Trial(Falling([3.0, 1.0]))
    ended.run(10)
    assert ended.expected == 1.0, "nothing more is expected of training that is over"


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
    assert max(trials, key=lambda trial: trial.expected).trainer is steady
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
