"""Choosing a space by short runs."""

import pytest

from kappagcn import GraphEmbedder
from kappagcn.errors import SignatureError
from kappagcn.estimators.embedding_run import EmbeddingRun
from kappagcn.estimators.space_choice import SpaceChoice, candidate_spaces
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import balanced_tree, cycle, path


@pytest.mark.parametrize("dim", range(1, 14))
def test_candidates_have_the_dimension_that_is_asked_for(dim):
    for space in candidate_spaces(dim):
        assert sum(f.dim for f in parse_signature(space)) == dim
    assert len(set(candidate_spaces(dim))) == len(candidate_spaces(dim))


def test_no_dimension_is_refused():
    with pytest.raises(SignatureError, match="dim: expected"):
        candidate_spaces(0)


@pytest.mark.parametrize(("graph", "sign"), [(balanced_tree(4, 3), -1), (cycle(24), 1)], ids=["tree", "cycle"])
def test_trees_get_hyperbolic_spaces_and_cycles_spheres(graph, sign):
    embedder = GraphEmbedder("auto", dim=2, epochs=200, verbose=False).fit(graph)
    assert max(sign * kappa for kappa in embedder.curvatures_) > 0
    assert embedder.choice_.space == embedder.choice_.candidates[0].space
    assert embedder.choice_.space in embedder.choice_.reason
    best = min(each.d_avg for each in embedder.choice_.candidates)
    assert embedder.d_avg_ <= 1.05 * best, "the objective is another one, and D_avg need not fall with it"


def test_the_better_half_goes_on_and_all_are_reported():
    choice = GraphEmbedder("auto", dim=6, epochs=200, verbose=False).fit(balanced_tree(3, 2)).choice_
    assert [each.space for each in choice.candidates[:2]].count(choice.space) == 1
    epochs = sorted((each.epochs for each in choice.candidates), reverse=True)
    assert len(epochs) == 8
    assert epochs[0] > epochs[-1]


def test_where_all_fit_perfectly_flat_space_is_taken():
    choice = GraphEmbedder("auto", dim=2, epochs=80, verbose=False).fit(path(6)).choice_
    assert choice.space == "E2"
    assert choice.reason.startswith("Flat space is as good as any")


def test_each_candidate_has_one_trainer(monkeypatch):
    """Making one runs the trials of its starts."""
    made, own = [], EmbeddingRun.trainer
    monkeypatch.setattr(EmbeddingRun, "trainer", lambda run, **o: made.append(run.settings.space) or own(run, **o))
    GraphEmbedder("auto", dim=6, epochs=100, verbose=False).fit(cycle(10))
    assert sorted(made[:-1]) == sorted(candidate_spaces(6)), "and one for the run itself"


def test_the_choice_is_kept_and_taken_up_again(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    first = GraphEmbedder("auto", dim=2, epochs=60, verbose=False).fit(cycle(12), folder=folder)
    monkeypatch.setattr("kappagcn.estimators.embedder.choose_space", lambda *_: pytest.fail("chosen again"))
    more = GraphEmbedder("auto", dim=2, epochs=80, verbose=False).fit(cycle(12), folder=folder, resume=True)
    assert more.choice_ == first.choice_
    assert SpaceChoice.from_dict(first.choice_.as_dict()) == first.choice_
    assert GraphEmbedder.load(folder).choice_ == first.choice_
