"""Choosing a space by short runs."""

import pytest

from kappagcn import GraphEmbedder
from kappagcn.distributed import Communicator
from kappagcn.embedding.run import EmbeddingRun
from kappagcn.embedding.space_choice import Candidate, SpaceChoice, _reason, candidate_spaces, choose_space
from kappagcn.errors import GeometryError
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import balanced_tree, cycle, path


@pytest.mark.parametrize("dim", range(1, 14))
def test_candidates_have_the_dimension_that_is_asked_for(dim):
    for space in candidate_spaces(dim):
        assert sum(f.dim for f in parse_signature(space)) == dim
    assert len(set(candidate_spaces(dim))) == len(candidate_spaces(dim))


def test_no_dimension_is_refused():
    with pytest.raises(GeometryError, match="dim: expected"):
        candidate_spaces(0)


@pytest.mark.parametrize(("graph", "sign"), [(balanced_tree(4, 3), -1), (cycle(24), 1)], ids=["tree", "cycle"])
def test_trees_get_hyperbolic_spaces_and_cycles_spheres(graph, sign):
    embedder = GraphEmbedder("auto", dim=2, epochs=200, verbose=False, intervals=False).fit(graph)
    assert max(sign * kappa for kappa in embedder.curvatures_) > 0
    assert embedder.choice_.space == embedder.choice_.candidates[0].space
    assert embedder.choice_.space in embedder.choice_.reason
    best = min(each.d_avg for each in embedder.choice_.candidates)
    assert embedder.d_avg_ <= 1.25 * best, "the objective is another one, and D_avg need not fall with it"


def test_the_better_candidates_are_trained_longer_and_all_are_reported():
    choice = GraphEmbedder("auto", dim=6, epochs=120, verbose=False, intervals=False).fit(balanced_tree(3, 2)).choice_
    assert [each.space for each in choice.candidates[:2]].count(choice.space) == 1
    epochs = sorted((each.epochs for each in choice.candidates), reverse=True)
    assert len(epochs) == 8
    assert epochs[0] > epochs[-1]
    second_round = {each.space for each in choice.candidates if each.epochs > 30}
    assert len(second_round) <= 5, "one of H6, S6; one of H3xS3, H3^2, S3^2; E6; H3xE3; H2^3"


def test_where_all_fit_perfectly_flat_space_is_taken():
    choice = GraphEmbedder("auto", dim=2, epochs=80, verbose=False).fit(path(6)).choice_
    assert choice.space == "E2"
    assert choice.reason.startswith("Flat space is as good as any")


def test_the_reason_says_when_another_one_was_slightly_better():
    best, other, flat = Candidate("H10", 200, 0.0758), Candidate("S5^2", 200, 0.0750), Candidate("E10", 100, 0.0773)
    reason = _reason(best, [best, other, flat])
    assert "close to the least" in reason
    assert "least" not in reason.replace("close to the least", "")
    assert _reason(other, [other, best, flat]).startswith("S5^2 has the least D_avg")


def test_each_candidate_has_one_trial_and_the_chosen_one_is_continued(monkeypatch):
    made, own = [], EmbeddingRun.short_trial
    monkeypatch.setattr(EmbeddingRun, "short_trial", lambda run: made.append(run.settings.space) or own(run))
    monkeypatch.setattr(EmbeddingRun, "trial", lambda *_, **__: pytest.fail("started again"))
    fitted = GraphEmbedder("auto", dim=6, epochs=50, verbose=False).fit(cycle(10))
    assert sorted(made) == sorted(candidate_spaces(6))
    assert len(fitted.history_) == fitted.result_.epochs


def test_a_long_run_starts_again_in_the_chosen_space():
    """It compares more starts than the choice, and for longer."""
    for epochs, continued in ((600, True), (700, False)):
        run = EmbeddingRun(GraphEmbedder("auto", dim=1, epochs=epochs, verbose=False), cycle(6), Communicator())
        assert (choose_space(run, 1)[1] is not None) == continued


def test_the_choice_is_kept_and_taken_up_again(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    first = GraphEmbedder("auto", dim=2, epochs=60, verbose=False).fit(cycle(12), folder=folder)
    monkeypatch.setattr("kappagcn.embedding.space_choice.choose_space", lambda *_: pytest.fail("chosen again"))
    more = GraphEmbedder("auto", dim=2, epochs=80, verbose=False).fit(cycle(12), folder=folder, resume=True)
    assert more.choice_ == first.choice_
    assert SpaceChoice.from_dict(first.choice_.as_dict()) == first.choice_
    assert GraphEmbedder.load(folder).choice_ == first.choice_
