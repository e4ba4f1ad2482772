from kappagcn.view.report.words import facts, number, sentences
from report_runs import classified_run, tree_run, written


def test_numbers_as_text():
    assert number(-0.0867731) == "−0.08677"
    assert number(1e-7) == "1.000e−07"
    assert number(float("inf")) == number(None) == "–"


def test_a_summary_as_text(tmp_path):
    run = classified_run(tmp_path / "papers")
    assert "80.0 % of the test nodes" in sentences(run)
    assert "2 runs" in sentences(run)
    assert [fact.label for fact in facts(run)][:3] == ["Test accuracy", "95 % interval", "Macro F1"]
    assert "average distortion of 0.1" in sentences(tree_run(tmp_path / "tree"))


def test_unknown_numbers_are_shown_too(tmp_path):
    run = tree_run(tmp_path / "tree")
    run.summary["strange_thing"] = [1, 2.5, None]
    assert ("Strange thing", "1, 2.5, –") in [fact[:2] for fact in facts(run)]


def test_a_classifier_that_was_not_tested(tmp_path):
    run = classified_run(tmp_path / "papers")
    run.summary.update(accuracy=None, interval=None, macro_f1=None)
    assert "no nodes were set aside" in written(run, tmp_path)


def test_a_sign_that_is_not_determined_is_said_beside_the_curvature(tmp_path):
    run = tree_run(tmp_path / "run")
    run.summary["curvature_intervals"] = [{"identified": False}]
    doubt = "The sign of the curvature is not determined by this graph: the other sign would fit as well."
    assert sentences(run).endswith(doubt)
    assert "suits" not in sentences(run)
    run.summary["curvature_intervals"] = [{"identified": False}, {"identified": True}]
    assert "suits trees and hierarchies. The sign of 1 of the 2 curvatures" in sentences(run)
    run.summary["curvature_intervals"] = [{"identified": True}, None]
    assert "sign" not in sentences(run)


def test_an_unbounded_distortion_says_how_many_nodes_share_a_place(tmp_path):
    run = tree_run(tmp_path / "tree")
    run.summary.update(worst_distortion=1.385e16, coincident_nodes=7)
    worst = next(fact for fact in facts(run) if fact.label == "Worst-case distortion")
    assert worst[1:] == ("unbounded", "7 nodes share a place with another node")
    run.summary.update(worst_distortion=123_100.0)
    worst = next(fact for fact in facts(run) if fact.label == "Worst-case distortion")
    assert worst[1] == "123,100"
    assert "nearly coincide" in worst[2]
    run.summary.update(worst_distortion=2.5)
    assert ("Worst-case distortion", "2.5") in [fact[:2] for fact in facts(run)]


def test_an_embedding_trained_on_ranks_is_judged_by_them(tmp_path):
    run = tree_run(tmp_path / "tree")
    run.summary.update(objective="neighbours", map=0.895)
    assert "mean average precision of 89.5 %" in sentences(run)
    assert "distortion" not in sentences(run)
    assert facts(run)[0].label == "Mean average precision"
