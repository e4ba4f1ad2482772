"""The experiment on links: equal budgets, records that are not repeated, the choice on validation edges, the table."""

import os

import pytest

from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.paper import links
from kappagcn.paper.cells import Cell
from kappagcn.paper.links import LINK_ROWS, LinkExperiment, LinkJob, candidates, link_data
from kappagcn.paper.reproduce import CELLS, line, plan

SMALL = LinkExperiment("karate", LinkPredictionSettings("H2", epochs=3))


def test_every_row_has_the_same_budget():
    counts = {row: len(candidates(row)) for row in LINK_ROWS}
    assert set(counts.values()) == {10}
    for row in LINK_ROWS:
        assert len({str(each) for each in candidates(row)}) == 10, "no setting twice"
        assert {each.model for each in candidates(row)} == {LINK_ROWS[row][0]}


def test_a_record_says_which_run_it_was():
    job = LinkJob(SMALL, seed=4)
    record = job.run()
    assert LinkJob.from_record(record).key == job.key
    assert 0 <= record["test"]["roc_auc"] <= 1
    assert "test AUC" in line(record)
    chosen = LinkJob(SMALL, seed=4, purpose="validation").run()
    assert "test" not in chosen
    assert chosen["validation_auc"] == record["validation_auc"]
    assert "validation AUC" in line(chosen)


def test_features_of_airport_come_from_training_edges_alone(data_folder):
    data, split = link_data("airport", 0, data_folder)
    degree = data.x[:, 4:10].argmax(1)
    trained = split.training_view(data).edge_index[0].bincount(minlength=data.num_nodes).clamp(max=5)
    assert degree.equal(trained)


@pytest.fixture
def data_folder():
    folder = os.environ.get("KAPPAGCN_DATA")
    if not folder:
        pytest.skip("needs the datasets in the folder that KAPPAGCN_DATA names")
    return folder


def test_the_search_chooses_and_the_table_reports(tmp_path, monkeypatch):
    monkeypatch.setattr(links, "LINK_DATASETS", {"disease": "Disease"})
    monkeypatch.setattr(links, "PUBLISHED", {"disease": (90.0, 95.0)})
    monkeypatch.setattr(links, "BASE", {"epochs": 4, "patience": 4, "evaluate_every": 1})
    monkeypatch.setattr(links, "FIRST", 2)
    monkeypatch.setattr(links, "NETWORK", links.NETWORK[:3])
    cell = Cell("disease", "H16")
    monkeypatch.setitem(CELLS, "links", [Cell("disease", "gcn"), cell])
    small = plan("links", [], tmp_path, splits=2)
    done = []
    small.run(report=lambda record, *_: done.append(record))
    assert len(done) == 2 * (3 + 2 + 2)
    small.run(report=lambda record, *_: pytest.fail("a run was repeated"))
    chosen, _ = links.HALVING.chosen(links.link_settings(cell), small.file.finished())
    assert chosen.settings.epochs == 4
    tried = [r for r in small.file.records() if r["purpose"] == "validation" and r["links"]["model"] == "kappa-gcn"]
    best = max((r for r in tried if r["links"]["epochs"] == 4), key=lambda r: r["validation_auc"])
    assert LinkExperiment.from_record(best["links"]).record() == chosen.record()
    assert all("test" not in record for record in tried)
    assert len(small.records()[cell]) == 2
    table = small.table()
    assert [row[0] for row in table.rows] == ["GCN", "κ-GCN H16", "HGCN, published", "best published"]
