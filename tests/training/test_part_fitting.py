"""Training on parts in files has the numbers of training in memory."""

import json

import numpy as np
import pytest
import torch

import part_files_worker
import part_worker
import workers as processes
from kappagcn.classification.evaluation import final_evaluation
from kappagcn.classification.fitting import fit
from kappagcn.distributed import csr, halo_exchange, halo_file_exchange
from kappagcn.errors import CheckpointError, TrainingError
from kappagcn.graphs import TEST_SEEDS, random_split
from kappagcn.models import GCN
from kappagcn.sparse import multiply
from kappagcn.training.node_columns import NodeColumns, part_stream
from kappagcn.training.part_fitting import evaluate_parts, fit_parts, part_files, save_predictions
from kappagcn.training.part_writing import write_parts
from kappagcn.training.settings import TrainingSettings

pytestmark = pytest.mark.filterwarnings("ignore::kappagcn.errors.PrecisionWarning")


@pytest.fixture(scope="module")
def graph():
    """A graph in float32's numbers, as files keep them, with its split."""
    data, _ = part_worker.prepared()
    data.x = data.x.float().double()
    return data, random_split(data.y, TEST_SEEDS[0])


@pytest.fixture(scope="module")
def folders(graph, tmp_path_factory):
    data, _ = graph
    place = tmp_path_factory.mktemp("parts")
    return {n: write_parts(part_stream(data), NodeColumns.of_data(data), place / f"{n}", n) for n in (1, 2, 3)}


def compare(theirs, graph, name):
    data, split = graph
    model = part_worker.network(name)
    history = fit(model, data, split, part_files_worker.CONFIG).history
    for ours, record in zip(history, theirs["history"], strict=True):
        assert ours.keys() == record.keys()
        for key, value in ours.items():
            assert record[key] == pytest.approx(value, rel=1e-8, abs=1e-11), (name, key)
    for key, value in theirs["weights"].items():
        own = model.state_dict()[key].flatten()
        torch.testing.assert_close(torch.tensor(value, dtype=torch.float64), own, rtol=1e-7, atol=1e-9, msg=name)
    test = final_evaluation(model, data, split)
    assert theirs["test"] == pytest.approx({key: test[key] for key in theirs["test"]}, rel=1e-8)


@pytest.mark.parametrize("name", ["H4", "H2xS2", "relative", "hgcn", "mlp"])
def test_parts_in_turn_have_the_numbers_of_memory(folders, graph, name, tmp_path):
    compare(part_files_worker.trained(folders[3], name, scratch=tmp_path), graph, name)
    assert not list(tmp_path.iterdir()), "scratch files are removed"


def test_each_part_computes_a_product_once(folders, tmp_path, monkeypatch):
    """Two layers: two products for the loss, two for its gradient, two for the metrics, also in later sweeps."""
    count = [0]

    def counted(matrix, x):
        count[0] += 1
        return multiply(matrix, x)

    model = part_worker.network("gcn")
    with part_files(model, folders[3], scratch=tmp_path) as task:
        task.metrics()  # prepares matrices and sums of rows
        for module in (csr, halo_exchange, halo_file_exchange):
            monkeypatch.setattr(module, "multiply", counted)
        fit_parts(model, task, TrainingSettings(epochs=2, patience=2))
    assert count[0] == 2 * 3 * (2 + 2 + 2)


def test_two_workers_have_the_numbers_of_memory(folders, graph, tmp_path):
    """One part each, exchanged in memory; and three parts for two, which take turns."""
    out, cases = tmp_path / "out.json", {"each": folders[2], "turns": folders[3]}
    for process in processes.group(part_files_worker.main, 2, out, cases, ["H4"]):
        _, complaints, code = process.ended(240)
        assert code == 0, complaints[-3000:]
    for case, theirs in json.loads(out.read_text()).items():
        compare(theirs, graph, case.split()[1])


def test_a_run_on_parts_is_resumed_to_the_same_numbers(folders, tmp_path):
    whole = part_files_worker.trained(folders[2], "gcn")
    seen = []

    def stop(record):
        seen.append(record)
        if len(seen) == 2:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        part_files_worker.trained(folders[2], "gcn", folder=tmp_path / "run", callbacks=[stop], checkpoint_seconds=0)
    again = part_files_worker.trained(folders[1], "gcn", folder=tmp_path / "other")
    assert len(again["history"]) == part_files_worker.CONFIG.epochs
    resumed = part_files_worker.trained(folders[2], "gcn", folder=tmp_path / "run", resume=True)
    assert resumed["weights"] == whole["weights"]
    with pytest.raises(CheckpointError, match="expected"):
        part_files_worker.trained(folders[3], "gcn", folder=tmp_path / "run", resume=True)


def test_far_rows_on_one_part_count_for_all(folders, graph):
    """Float32 sums that would lose digits are computed in float64 on every part, whichever has them."""
    data, split = graph
    single = data.clone()
    single.x = data.x.float()
    config = TrainingSettings(epochs=2, patience=2)
    model, alone = (part_worker.network("H4").float() for _ in range(2))
    with part_files(model, folders[3]) as task:
        history = fit_parts(model, task, config).history
        assert task.state.assumed, "no row was far: the case is not tried"
    expected = fit(alone, single, split, config).history
    assert [r["train_loss"] for r in history] == pytest.approx([r["train_loss"] for r in expected], rel=1e-5)


def test_predictions_are_written_part_by_part(folders, tmp_path):
    model = part_worker.network("gcn")
    with part_files(model, folders[3]) as task:
        evaluate_parts(task, save=lambda part, scores: save_predictions(tmp_path, part, scores))
    arrays = [np.load(tmp_path / f"part-{part}.npz") for part in range(3)]
    assert sorted(np.concatenate([each["nodes"] for each in arrays])) == list(range(part_worker.NODES))
    assert all(((each["probability"] > 0.49) & (each["predicted"] < 2)).all() for each in arrays)


def test_networks_of_other_sizes_and_graphs_without_labels_are_refused(folders, tmp_path):
    model = GCN(9, 2)
    with (
        part_files(model, folders[2]) as task,
        pytest.raises(TrainingError, match="expected a network for 10 features"),
    ):
        fit_parts(model, task)
    data = part_worker.prepared()[0]
    data.y = None
    bare = write_parts(part_stream(data), NodeColumns.of_data(data), tmp_path / "bare", 2)
    with part_files(model, bare) as task:
        with pytest.raises(TrainingError, match="expected labels to train on"):
            fit_parts(model, task)
        with pytest.raises(TrainingError, match="expected test nodes"):
            evaluate_parts(task)
