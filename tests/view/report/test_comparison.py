import numpy as np
import pytest

from kappagcn.errors import CheckpointError
from kappagcn.view.report import write_comparison
from kappagcn.view.report.comparison import comparison_table, run_names, verdict
from report_runs import classified_run, embedded, save_run, tree_edges, tree_run, tree_vectors


def space_run(folder, k, distortion, nodes=40):
    made = embedded(tree_vectors(nodes), [2], [k], tree_edges(nodes))
    summary = {"graph": "tree", "distortion": distortion, "d_avg": distortion, "epochs": 20, "objective": "distortion"}
    return save_run(folder, made, summary)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    kinds = {"disk": (-1.0, 0.02), "flat": (0.0, 0.18), "ball": (0.3, 0.5)}
    return [space_run(folder / name, *about) for name, about in kinds.items()]


def test_the_verdict_says_how_many_times_better(runs):
    words = verdict(runs)
    assert words.startswith("In H2 (κ = −1) distances are kept 9 times better than in the plane and 25 times better")
    assert "on the sphere S2 (κ = 0.3)" in words
    assert words.endswith("(average distortion 0.02 against 0.18 and 0.5).")
    alike = verdict([runs[0], runs[0]])
    assert "as well as" in alike


def test_a_run_named_after_a_space_that_changed_its_sign_also_has_the_learned_one(tmp_path):
    changed, kept = space_run(tmp_path / "tree-S2", -1.0, 0.02), space_run(tmp_path / "tree-H2", -0.5, 0.03)
    changed.summary["space"], kept.summary["space"] = "S2", "H2"
    assert run_names([changed, kept]) == ["tree-S2 (learned H2)", "tree-H2"]
    assert comparison_table([changed, kept]).rows[0][0] == "tree-S2 (learned H2)"


def test_the_best_of_each_column_is_bold(runs):
    table = comparison_table(runs)
    bold = {(table.rows[row][0], table.head[place]) for row, place in table.bold}
    assert bold == {("disk", "Average distortion"), ("disk", "D_avg")}  # neither epochs nor what no run has


def test_nodes_that_coincide_have_a_column_where_there_are_any(runs, tmp_path):
    assert "Coinciding nodes" not in comparison_table(runs).head
    crowded = space_run(tmp_path / "crowded", 0.0, 0.3)
    crowded.summary["coincident_nodes"] = 12
    table = comparison_table([runs[0], crowded])
    assert table.rows[1][table.head.index("Coinciding nodes")] == "12"


def test_classifiers_are_compared_by_accuracy_and_intervals(tmp_path):
    one, two = (classified_run(tmp_path / name) for name in ("one", "two"))
    two.summary.update(accuracy=0.83, interval=[0.81, 0.85])
    assert verdict([one, two]) == (
        "two is right for 83.0 % of the test nodes, 3.0 points more than one; their 95 % intervals overlap, so that "
        "may be chance."
    )
    two.summary.update(interval=[0.825, 0.835])
    assert verdict([one, two]).endswith("points more than one.")


def test_runs_that_cannot_be_compared_are_refused_in_one_line(runs, tmp_path):
    other = tree_run(tmp_path / "other", nodes=39)
    for chosen, words in (
        ([runs[0], other], "expected the graph of"),
        ([runs[0], classified_run(tmp_path / "papers")], "runs of one kind"),
        ([runs[0]], "2 to 4 runs"),
        ([runs[0]] * 5, "2 to 4 runs"),
    ):
        with pytest.raises(CheckpointError, match=words):
            write_comparison(chosen, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_views_of_compared_runs_are_linked(page, runs, folder):
    page.open(write_comparison(runs, folder / "comparison.html"))
    assert page.state()["views"] == 3
    assert [page.state(place)["kind"] for place in range(3)] == ["disk", "plane", "sphere"]
    page.click(4, place=1)
    assert page.state()["selected"] == 4
    assert page.text("#near-title") == "Nearest in the space of flat"
    flat = [float(text) for text in page.texts("#near em:last-child")]
    v = runs[1].embedded.tangent
    lengths = np.sort(2 * np.linalg.norm(v - v[4], axis=1))[1:9]
    assert flat == pytest.approx(lengths.tolist(), rel=1e-3)
    page.click(4, place=0)
    assert page.text("#near-title") == "Nearest in the space of disk"
    assert [float(text) for text in page.texts("#near em:last-child")] != flat
    assert len(page.run("return [...document.querySelectorAll('#comparison tbody tr')].map((r) => r.innerText)")) == 3
    assert page.run("return document.querySelectorAll('#curves .line').length") == 3
    assert page.errors() == []
