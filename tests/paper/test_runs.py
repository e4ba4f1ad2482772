"""Runs and their records."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.embedding.settings import EmbeddingSettings
from kappagcn.errors import CheckpointError, GraphError
from kappagcn.graphs import Split
from kappagcn.paper import Experiment, Job, RecordFile, run, run_all, runs
from kappagcn.paper.embeddings import EmbeddingExperiment, EmbeddingJob
from kappagcn.training.provenance import commit
from workers import CONTEXT, wait_until

CURVED = Experiment(
    "disease",
    "kappa-gcn",
    ClassificationSettings("H3xS2", feature_norm="columns", dropout=0.3, l2=0.0, self_features="off", epochs=12),
)


def without_time(record):
    return {key: v for key, v in record.items() if "seconds" not in key and key not in ("machine", "memory_gib")}


def test_the_same_run_gives_the_same_digits_whatever_the_threads(monkeypatch):
    first = run(Job(CURVED, 1, 1))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        torch.rand(3)
        second = run(Job(CURVED, 1, 1))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert without_time(first) == without_time(second)
    assert first["seed"] == 1001
    assert first["curvature_path"][0][0] == 1
    assert first["curvature_path"][-1][0] == 12
    assert len(first["curvatures"]) == 2
    assert set(first["versions"]) >= {"python", "torch", "kappagcn", "numba"}
    assert first["commit"] == commit()
    other = run(Job(CURVED, 1, 0))
    assert other["test"] != first["test"] or other["curvatures"] != first["curvatures"]


def test_choosing_never_looks_at_test_nodes(monkeypatch):
    def refuse(*_):
        raise AssertionError("test nodes were looked at")

    monkeypatch.setattr(Split, "final_test_nodes", refuse)
    record = run(Job(CURVED, 0, 0, "validation"))
    assert "test" not in record
    assert 0 <= record["validation_accuracy"] <= 1
    with pytest.raises(AssertionError, match="looked at"):
        run(Job(CURVED, 0, 0, "test"))


def test_a_run_that_diverges_is_a_record_that_says_so():
    record = run(Job(CURVED.changed(lr=1e38), 0))
    assert "expected a finite" in record["failed"]
    assert "test" not in record


def test_runs_over_processes_give_the_records_of_one(tmp_path, monkeypatch):
    """Of both kinds at once; the processes are forked from one that has imported the package."""
    methods = []
    monkeypatch.setattr(runs, "get_context", lambda method: methods.append(method) or CONTEXT)
    embedding = EmbeddingExperiment("karate", EmbeddingSettings("H2xS2", method="kappa-gcn", epochs=12))
    kinds = {
        Job: [Job(CURVED, split) for split in range(3)],
        EmbeddingJob: [EmbeddingJob(embedding, seed) for seed in range(3)],
    }
    results = []
    for processes in (1, 2):
        files = {kind: RecordFile(tmp_path / f"{kind.__name__}-{processes}.jsonl") for kind in kinds}
        run_all([(job, files[kind]) for kind, jobs in kinds.items() for job in jobs], processes=processes)
        results.append([{k: without_time(r) for k, r in file.finished().items()} for file in files.values()])
    assert [len(records) for records in results[0]] == [3, 3]
    assert results[0] == results[1]
    assert methods == ["spawn"], "once, for two processes; they start as in the test below"


def test_finished_runs_are_not_done_again_and_a_torn_line_is(tmp_path, monkeypatch):
    file = RecordFile(tmp_path / "deep" / "records.jsonl")
    jobs = [(Job(CURVED, split), file) for split in range(3)]
    run_all(jobs)
    whole = file.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    file.path.write_bytes(lines[0] + lines[1] + lines[2][:50])
    done = []
    real = Job.run
    monkeypatch.setattr(Job, "run", lambda job, root: done.append(job.split) or real(job, root))
    seen = []
    run_all(jobs, report=lambda record, number, count: seen.append((record["split"], number, count)))
    assert done == [2]
    assert seen == [(2, 1, 1)]
    again = file.path.read_bytes().splitlines(keepends=True)
    assert again[:2] == lines[:2]
    assert without_time(json.loads(again[2])) == without_time(json.loads(lines[2]))
    run_all([(Job(CURVED.changed(epochs=3), 0), file)])
    assert done == [2, 0]


def test_a_damaged_line_is_named(tmp_path):
    file = RecordFile(tmp_path / "records.jsonl")
    for damaged in ("nonsense", "[1]", '{"a": 1}'):
        file.path.write_text(f"{damaged}\n")
        with pytest.raises(CheckpointError, match=r"records.jsonl, line 1: expected one record a line, found"):
            file.records()


def test_a_place_that_cannot_be_written_is_found_before_the_run(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(Job, "run", lambda *_: pytest.fail("ran first"))
    with pytest.raises(CheckpointError, match="cannot be written"):
        run_all([(Job(CURVED, 0), RecordFile(tmp_path / "file" / "below.jsonl"))])


def test_the_same_run_twice_is_one_run(tmp_path):
    file = RecordFile(tmp_path / "records.jsonl")
    other = CURVED.changed(feature_scale=1)
    assert Job(other, 0).key == Job(CURVED, 0).key
    run_all([(Job(CURVED, 0), file), (Job(CURVED, 0), file), (Job(other, 0), file)])
    assert len(file.records()) == 1


def test_what_went_well_is_kept_when_another_run_fails(tmp_path):
    file = RecordFile(tmp_path / "records.jsonl")
    wrong = replace(CURVED, dataset="small_tree")
    with pytest.raises(GraphError, match="with labels"):
        run_all([(Job(CURVED, 0), file), (Job(wrong, 0), file)])
    assert len(file.records()) == 1


ENDLESS = """
import os, sys, time
from pathlib import Path
from kappagcn.paper import Experiment, Job, RecordFile, run_all

class Endless(Job):
    def run(self, root):
        (root / str(os.getpid())).touch()
        while True:
            time.sleep(1)

if __name__ == "__main__":
    root = Path(sys.argv[1])
    jobs = [Endless(Experiment("disease", "gcn"), split) for split in range(4)]
    run_all([(job, RecordFile(root.parent / "records.jsonl")) for job in jobs], root=root, processes=2)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not list processes in /proc")
def test_workers_end_with_a_killed_parent(tmp_path):
    script, begun = tmp_path / "endless.py", tmp_path / "begun"
    script.write_text(ENDLESS)
    begun.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(begun)])
    try:
        wait_until(lambda: len(list(begun.iterdir())) == 2)
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not any(Path("/proc", worker.name).exists() for worker in begun.iterdir()))
