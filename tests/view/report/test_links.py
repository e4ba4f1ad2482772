"""The section of a link prediction: numbers, curves, names that cannot break the page."""

import numpy as np
import pytest

from kappagcn.run_folder import Links, SavedRun, save_links
from kappagcn.view.report import write_report
from kappagcn.view.report.links import link_charts, link_sections
from report_runs import embedded, save_run, tree_edges, tree_vectors

METRICS = {"roc_auc": 0.81, "average_precision": 0.8, "hits@10": 0.5, "hits@50": 0.6, "hits@100": 0.7, "mrr": 0.4}
SUMMARY = {
    "graph": "staff",
    "roc_auc": 0.81,
    "metrics": METRICS,
    "intervals": {name: [value - 0.05, value + 0.05] for name, value in METRICS.items()},
    "baselines": {"Adamic–Adar": dict.fromkeys(METRICS, 0.7)},
    "verdict": "better than chance, and than Adamic–Adar.",
    "test_pairs": 60,
    "epochs": 1,
    "best_epoch": 1,
}


@pytest.fixture
def run(tmp_path):
    placed = embedded(tree_vectors(9), [2], [-1.0], tree_edges(9))
    save_run(
        tmp_path / "run",
        placed,
        SUMMARY,
        [{"epoch": 1, "train_loss": 0.7, "validation_auc": 0.8, "curvatures": [-1.0]}],
    )
    rng = np.random.default_rng(0)
    names = np.array(["ann", "<script>alert(1)</script>"])
    links = Links(rng.normal(1, 1, 30), rng.normal(0, 1, 30), names, names[::-1], np.array([0.9, 0.8]))
    save_links(tmp_path / "run" / "links.npz", links)
    return SavedRun(tmp_path / "run")


def test_the_page_has_metrics_curves_and_names(run, tmp_path):
    text = write_report(run, tmp_path / "report.html").read_text()
    for words in ("Link prediction", "ROC AUC", "Adamic–Adar", "The most probable missing links", "0.760 – 0.860"):
        assert words in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "Better than chance, and than Adamic–Adar." in text
    assert "Hits@10<" in text
    assert "Hits@50<" not in text, "of 30 other pairs, where it is always 1"


def test_measures_of_every_other_epoch_are_lines_and_tables_keep_their_words_at_400_pixels(page, run, tmp_path):
    metrics = [
        {"epoch": t, "train_loss": 1 / t, "curvatures": [-1.0]} | ({"validation_auc": 0.7 + t / 100} if t % 2 else {})
        for t in range(1, 12)
    ]
    links = run.path / "links.npz"
    again = save_run(tmp_path / "again", run.embedded, SUMMARY, metrics)
    (again.path / "links.npz").write_bytes(links.read_bytes())
    page.open(write_report(SavedRun(again.path), tmp_path / "again.html"), width=400)
    paths = page.run("return [...document.querySelectorAll('#curves .line')].map((e) => e.getAttribute('d'))")
    assert [path.count("L") for path in paths] == [10, 5, 10]
    heights = page.run(
        "return [...document.querySelectorAll('#link-metrics td')].map((e) => [...e.childNodes].map("
        "(n) => { const r = document.createRange(); r.selectNode(n); return r.getClientRects().length })[0])"
    )
    assert set(heights) == {1}
    assert page.run("return document.documentElement.scrollWidth") <= 400


def test_curves_and_scores_are_drawn(page, run, tmp_path):
    page.open(write_report(run, tmp_path / "report.html"))
    paths = page.run("return [...document.querySelectorAll('#link-curves .line')].map((e) => e.getAttribute('d'))")
    assert [path.count("L") > 10 for path in paths] == [True, True]
    assert page.run("return document.querySelectorAll('#link-curves .best').length") == 1  # the line of chance
    heights = [
        page.run(f"return [...document.querySelectorAll('#link-curves .bar{n}')].map((e) => +e.getAttribute('height'))")
        for n in (0, 1)
    ]
    shares = [series["shares"] for series in link_charts(run)[2]["series"]]
    most = np.max(shares)
    assert np.divide(heights, np.max(heights)) == pytest.approx(np.divide(shares, most), abs=1e-3)
    assert page.errors() == []


def test_without_test_pairs_there_are_names_alone_and_other_runs_have_no_such_section(run, tmp_path):
    links = run.links
    save_links(
        run.path / "links.npz", Links(np.empty(0), np.empty(0), links.sources, links.targets, links.probabilities)
    )
    text = write_report(SavedRun(run.path), tmp_path / "page.html").read_text()
    assert 'id="link-curves"' not in text
    assert 'id="missing-links"' in text
    save_run(tmp_path / "other", embedded(tree_vectors(9), [2], [-1.0], tree_edges(9)))
    assert link_sections(SavedRun(tmp_path / "other")) is None
