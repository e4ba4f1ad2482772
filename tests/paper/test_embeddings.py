"""Embeddings as runs with records: the same numbers whoever runs them, kills survived, tables from records."""

import json
from pathlib import Path

import pytest

from kappagcn.embedding.settings import EmbeddingSettings
from kappagcn.errors import ConfigError
from kappagcn.paper import reproduce
from kappagcn.paper.cells import Cell
from kappagcn.paper.embeddings import (
    GRAPHS,
    ROWS,
    SWEEP,
    ZERO,
    EmbeddingExperiment,
    EmbeddingJob,
    record_of_variant,
)
from kappagcn.paper.runs import RecordFile, run_all
from kappagcn.training.trainer import Trainer

SHORT = EmbeddingExperiment("karate", EmbeddingSettings("H2xS2", method="kappa-gcn", epochs=12))


def without_time(record):
    return {key: value for key, value in record.items() if key not in ("seconds", "seconds_in_all", "memory_gib")}


def test_a_record_says_everything_and_is_the_same_twice():
    first, second = (EmbeddingJob(SHORT, seed=3).run() for _ in range(2))
    assert without_time(first) == without_time(second)
    assert first["embedding"]["start"] == "graph", "defaults are written out"
    assert first["seed"] == 3
    assert EmbeddingJob.from_record(json.loads(json.dumps(first))).key == EmbeddingJob(SHORT, seed=3).key
    assert first["distortion"] == pytest.approx(min(d for _, d in first["distortion_path"]), rel=1e-5)
    assert [epoch for epoch, *_ in first["curvature_path"]][::11] == [1, 12]
    other = EmbeddingJob(SHORT, seed=4).run()
    assert other["distortion"] != first["distortion"]


def test_an_interrupted_run_resumes_and_removes_its_checkpoint(tmp_path, monkeypatch):
    job = EmbeddingJob(SHORT, scratch=tmp_path / "running")
    file = RecordFile(tmp_path / "records.jsonl")
    step, begun = Trainer.run_epoch, []

    def interrupted(self):
        begun.append(self.epoch)
        if self.epoch == 7 and len(begun) == 8:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr("kappagcn.training.run.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(Trainer, "run_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all([(job, file)])
    assert len(list((tmp_path / "running").iterdir())) == 1
    run_all([(job, file)])
    assert list((tmp_path / "running").iterdir()) == []
    (record,) = file.records()
    assert without_time(record) == without_time(EmbeddingJob(SHORT).run())


def test_a_run_that_diverges_is_a_record_that_says_so():
    record = EmbeddingJob(EmbeddingExperiment("karate", EmbeddingSettings("E2", epochs=5, lr=1e38, sources=4))).run()
    assert "a failure, not a result" in record["failed"]
    assert "distortion" not in record


def test_arguments_that_there_are_not_are_named():
    with pytest.raises(ConfigError, match="colour"):
        EmbeddingExperiment.from_record({"graph": "karate", "colour": 1})


# Plans


def test_the_table_has_the_papers_cells_in_both_starts():
    plan = reproduce.plan("table1", [], Path("nowhere"))
    assert {cell.name for cell in plan.cells} == {f"{graph}/{row}" for graph in GRAPHS for row in ROWS}
    result = [(cell.name, e.settings.method, e.settings.start) for cell, e in plan.experiments()]
    assert all((cell.name, "kappa-gcn", start) in result for cell in plan.cells for start in ("graph", "paper"))
    for _, each in plan.experiments():
        if each.settings.method == "kappa-gcn":
            rates = (0.01, 1e-4) if each.settings.start == "paper" else ("auto", "auto")
            assert each.settings.epochs == 10_000
            assert (each.settings.lr, each.settings.curvature_lr) == rates


def test_the_sweep_holds_curvatures_and_has_the_plane_beside_them():
    (cell,) = (plan := reproduce.plan("sweep", [], Path("nowhere"))).cells
    experiments = [experiment for _, experiment in plan.experiments()]
    spaces = [experiment.settings.space for experiment in experiments]
    assert spaces[0] == "E10"
    assert [float(space[4:-1]) for space in spaces[1:]] == SWEEP + ZERO
    assert (len(SWEEP), len(ZERO)) == (200, 41)
    assert all(experiment.settings.curvature_lr == 0 for experiment in experiments)
    assert cell == Cell("small_tree", "sweep")
    record = EmbeddingJob(experiments[1].changed(epochs=3)).run()
    assert record["curvatures"] == [-5.0]


def test_a_quick_table_runs_and_is_printed(tmp_path):
    plan = reproduce.plan("table1", ["sphere/H10"], tmp_path, quick=True)
    output = []
    plan.run(report=lambda record, done, count: output.append((reproduce.line(record), done, count)))
    assert [each[1:] for each in output] == [(1, 2), (2, 2)]
    assert output[0][0].startswith("sphere H10, kappa-gcn, start: graph: distortion 0.")
    (records,) = plan.records().values()
    assert record_of_variant(records, "graph")["embedding"]["start"] == "graph"
    ((graph, space, ours, started, free, paper),) = plan.table().rows
    assert (graph, space, paper) == ("Spherical graph", "H10 (κ-GCN)", "0.2670")
    assert float(ours) == pytest.approx(record_of_variant(records, "graph")["distortion"], abs=5e-5)
    assert float(started) == pytest.approx(record_of_variant(records, "paper")["distortion"], abs=5e-5)
    assert free == ""
    plan.run(report=lambda *_: pytest.fail("ran again"))
