"""Settings, splits, runs and their records."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.errors import ConfigError, GraphError, RecordError, SplitError
from kappagcn.experiments import (
    Benchmark,
    Experiment,
    FeatureConfig,
    Job,
    RecordFile,
    load_experiment,
    run,
    run_all,
    runs,
    save_experiment,
)
from kappagcn.graphs import Split
from kappagcn.nn.features import point_features
from kappagcn.training import TrainingConfig
from random_graphs import data_folder, needs_data

SHORT = TrainingConfig(epochs=12, l2=0.0)
CURVED = Experiment(
    "disease", "kappa-gcn", {"space": "H3xS2", "dropout": 0.3}, FeatureConfig("columns", "tangent"), SHORT
)


def without_time(record):
    return {key: value for key, value in record.items() if "seconds" not in key and key != "machine"}


experiments = st.builds(
    Experiment,
    st.sampled_from(["disease", "cora_ml"]),
    st.sampled_from(["kappa-gcn", "gcn", "hgcn", "mlp"]),
    st.dictionaries(
        st.text(min_size=1),
        st.one_of(st.integers(), st.booleans(), st.text(), st.floats(-1e9, 1e9), st.lists(st.text())),
    ),
    st.builds(
        FeatureConfig,
        st.sampled_from(["none", "rows", "lengths", "columns"]),
        st.sampled_from(["points", "tangent"]),
        st.floats(1e-6, 1e6),
    ),
    st.builds(TrainingConfig, st.integers(1, 10**6), st.integers(1, 10**6), st.floats(0, 1e3)),
)


@given(experiments)
def test_a_file_gives_back_what_was_saved(tmp_path_factory, experiment):
    path = tmp_path_factory.mktemp("config") / "a.toml"
    save_experiment(experiment, path)
    assert load_experiment(path) == experiment
    assert Experiment.from_record(json.loads(json.dumps(experiment.record()))) == experiment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dataset = 'disease'", "expected a dataset and a model"),
        ("dataset = 'disease'\nmodel = 'gat'", "model: expected kappa-gcn, gcn, hgcn, mlp, found 'gat'"),
        ("dataset = 'disease'\nmodel = 'gcn'\ncolour = 1", "found 'colour'"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[features]\nenter = 'door'", "features.enter: expected points, tangent"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[features]\nscale = -1", "features.scale: expected a number above 0"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[training]\nepoch = 3", "training: expected epochs"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[training]\nepochs = 0", "epochs: expected at least 1"),
        ("dataset = 'disease'\nmodel = 'gcn'\ntraining = 3", "training: expected a table"),
        ("dataset = 'disease'\nmodel = 'gcn'\noptions = 3", "options: expected a table"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[training]\nseed = 3", "training: expected epochs.*found 'seed'"),
        ("dataset = 'disease'\nmodel = 'gcn'\n[features]\nscale = true", "features.scale: expected a number above 0"),
        ("dataset 'disease'", "expected TOML"),
    ],
)
def test_wrong_files_are_refused_in_words_that_name_them(tmp_path, text, words):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        load_experiment(path)
    assert "wrong.toml" in str(caught.value)


def test_a_missing_file_and_wrong_options_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="expected a TOML file"):
        load_experiment(tmp_path / "none.toml")
    for value in (None, float("inf"), {"a": 1}):
        with pytest.raises(ConfigError, match="expected settings that are words"):
            save_experiment(Experiment("disease", "gcn", {"a": value}), tmp_path / "a.toml")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        save_experiment(Experiment("disease", "gcn"), tmp_path / "file" / "a.toml")
    with pytest.raises(ConfigError, match="options: expected arguments of gcn"):
        Experiment("disease", "gcn", {"colour": 1}).build(10, 2)


def test_features_enter_as_the_settings_say():
    data = Benchmark("disease").data
    kept = data.x.clone()
    points = Experiment("disease", "kappa-gcn", {"space": "S4(2)"}, FeatureConfig("none", "points", 3.0)).prepare(data)
    torch.testing.assert_close(points.x, 3 * point_features(data.x, [2.0]))
    flat = Experiment("disease", "gcn", {}, FeatureConfig("none", "points")).prepare(data)
    torch.testing.assert_close(flat.x, data.x / (2 * data.x.norm(dim=1).max()))
    rows = Experiment("disease", "gcn", {}, FeatureConfig("rows", "tangent")).prepare(data)
    torch.testing.assert_close(rows.x.abs().sum(1), torch.ones(data.num_nodes))
    for x in (data.x, data.x.to_sparse_csr()):
        lengths = FeatureConfig("lengths").normalized(x)
        assert lengths.layout == x.layout
        torch.testing.assert_close(lengths.to_dense().norm(dim=1), torch.ones(data.num_nodes))
    torch.testing.assert_close(CURVED.prepare(data).x.std(0, correction=0), torch.ones(10))
    assert torch.equal(data.x, kept)
    assert Experiment("disease", "hgcn", {"curvature": -0.5}).kappas() == [-0.5]
    assert CURVED.kappas() == [-1.0, 1.0]


def test_splits_for_choosing_and_for_reporting_share_test_nodes_only():
    benchmark = Benchmark("disease")
    chosen, reported = benchmark.split(0, "validation"), benchmark.split(0)
    assert torch.equal(chosen.final_test_nodes(), reported.final_test_nodes())
    assert not torch.equal(chosen.train, reported.train)
    assert len({tuple(benchmark.split(i).train.tolist()) for i in range(5)}) == 5


def test_a_graph_without_labels_is_refused():
    with pytest.raises(GraphError, match="expected a graph with labels"):
        Benchmark("tree")


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
    record = run(Job(replace(CURVED, training=replace(SHORT, lr=1e38)), 0))
    assert "expected a finite" in record["failed"]
    assert "test" not in record


def test_runs_over_processes_give_the_records_of_one(tmp_path):
    jobs = [Job(CURVED, split) for split in range(3)]
    alone, several = RecordFile(tmp_path / "1.jsonl"), RecordFile(tmp_path / "2.jsonl")
    run_all([(job, alone) for job in jobs])
    run_all([(job, several) for job in jobs], processes=2)
    ours, theirs = ({key: without_time(r) for key, r in file.finished().items()} for file in (alone, several))
    assert len(ours) == 3
    assert ours == theirs


def test_finished_runs_are_not_done_again_and_a_torn_line_is(tmp_path, monkeypatch):
    file = RecordFile(tmp_path / "deep" / "records.jsonl")
    jobs = [(Job(CURVED, split), file) for split in range(3)]
    run_all(jobs)
    whole = file.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    file.path.write_bytes(lines[0] + lines[1] + lines[2][:50])
    done = []
    real = runs.run
    monkeypatch.setattr(runs, "run", lambda job, root: done.append(job.split) or real(job, root))
    seen = []
    run_all(jobs, report=lambda record, number, count: seen.append((record["split"], number, count)))
    assert done == [2]
    assert seen == [(2, 1, 1)]
    again = file.path.read_bytes().splitlines(keepends=True)
    assert again[:2] == lines[:2]
    assert without_time(json.loads(again[2])) == without_time(json.loads(lines[2]))
    run_all([(Job(replace(CURVED, training=replace(SHORT, epochs=3)), 0), file)])
    assert done == [2, 0]


def test_a_damaged_line_is_named(tmp_path):
    file = RecordFile(tmp_path / "records.jsonl")
    for damaged in ("nonsense", "[1]", '{"a": 1}'):
        file.path.write_text(f"{damaged}\n")
        with pytest.raises(RecordError, match=r"records.jsonl, line 1: expected one record a line, found"):
            file.records()


def test_a_place_that_cannot_be_written_is_found_before_the_run(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(runs, "run", lambda *_: pytest.fail("ran first"))
    with pytest.raises(RecordError, match="cannot be written"):
        run_all([(Job(CURVED, 0), RecordFile(tmp_path / "file" / "below.jsonl"))])


def test_the_same_run_twice_is_one_run(tmp_path):
    file = RecordFile(tmp_path / "records.jsonl")
    other = replace(CURVED, features=FeatureConfig("columns", "tangent", 1), options={**CURVED.options, "dropout": 0.3})
    assert Job(other, 0).key == Job(CURVED, 0).key
    run_all([(Job(CURVED, 0), file), (Job(CURVED, 0), file), (Job(other, 0), file)])
    assert len(file.records()) == 1


def test_what_went_well_is_kept_when_another_run_fails(tmp_path):
    file = RecordFile(tmp_path / "records.jsonl")
    wrong = replace(CURVED, options={"colour": 1})
    with pytest.raises(ConfigError, match="colour"):
        run_all([(Job(CURVED, 0), file), (Job(wrong, 0), file)])
    assert len(file.records()) == 1


def test_splits_that_are_not_there_are_refused():
    with pytest.raises(SplitError, match="expected a split from 0 to 19, found 20"):
        run(Job(CURVED, 20))
    with pytest.raises(SplitError, match="found 'testing'"):
        run(Job(CURVED, 0, 0, "testing"))


@needs_data
def test_airport_comes_undivided_and_featureless_graphs_as_one_hot():
    data_root = data_folder()
    airport = Benchmark("airport", data_root).data
    feat = np.asarray(airport.feat)
    np.testing.assert_allclose(airport.x[:, :4], feat, rtol=1e-6)
    assert set(airport.x[:, 4:].unique().tolist()) == {0.0, 1.0}
    usa = Benchmark("airports_usa", data_root).data
    assert torch.equal(usa.x.to_dense(), torch.eye(usa.num_nodes))
    public = Benchmark("actor", data_root)
    with pytest.raises(SplitError, match="validation nodes of one are test nodes of another"):
        public.split(0, "validation")
    with pytest.raises(SplitError, match="expected a split from 0 to 9"):
        public.split(10)
    assert [public.split(i).name for i in range(2)] == ["actor public 0", "actor public 1"]


LONG = """
import sys
from pathlib import Path
from kappagcn.experiments import Experiment, Job, RecordFile, run_all
from kappagcn.training import TrainingConfig

if __name__ == "__main__":
    job = Experiment("disease", "gcn", {}, training=TrainingConfig(epochs=10**6, patience=10**6))
    run_all([(Job(job, split), RecordFile(Path(sys.argv[1]))) for split in range(4)], processes=2)
"""


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not list processes in /proc")
def test_workers_end_with_a_killed_parent(tmp_path):
    script = tmp_path / "long.py"
    script.write_text(LONG)
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path / "records.jsonl")])
    try:
        wait_until(lambda: len(children(parent.pid)) >= 3)  # two workers, and Python's own keeper of resources
        time.sleep(8)  # workers import before they can watch
        workers = children(parent.pid)
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
