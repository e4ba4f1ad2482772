"""Workers together have the loss, gradients, curvatures and weights of one process."""

import json

import pytest
import torch

import part_worker
import workers as processes
from kappagcn.classification.fitting import fit
from kappagcn.classification.task import NodeClassification
from kappagcn.training.trainer import Trainer


def together(workers, out, names):
    """Results of that number of workers."""
    for process in processes.group(part_worker.main, workers, out, names):
        _, complaints, code = process.ended(240)
        assert code == 0, complaints[-3000:]
    return json.loads(out.read_text())


@pytest.mark.filterwarnings("ignore::kappagcn.errors.PrecisionWarning")
def test_three_workers_have_the_numbers_of_one_process(tmp_path):
    names = list(part_worker.MODELS)
    actual = together(3, tmp_path / "found.json", names)
    boundary, embedding = actual.pop("boundary"), actual.pop("embedding")
    for key, value in embedding["ours"].items():
        assert embedding["theirs"][key] == pytest.approx(value, rel=1e-6, abs=1e-9), key
    assert embedding["watched"] == pytest.approx(embedding["alone"], rel=1e-9)
    assert len(actual) == len(names) + 1, "METIS for all, hashes for one"
    for case, theirs in actual.items():
        _compare(case, theirs)
    worst, exact = boundary["worst"]
    assert exact < 1e-12
    assert worst < 5, "standard errors of sampled boundaries' means, of some thousand entries"
    sent, rows = boundary["bytes"]
    assert sent == rows * boundary["columns"] * 8


def _compare(case, theirs):
    """Loss, gradients, curvatures and weights."""
    name = case.split()[0]
    data, split = part_worker.prepared()
    model = part_worker.network(name)
    task = NodeClassification(model, data, split)
    first = part_worker.gradients(Trainer(model, task, part_worker.CONFIG, regularised=model.first_layer()))
    for key, value in theirs["first"].items():
        torch.testing.assert_close(torch.tensor(value), torch.tensor(first[key]), rtol=1e-9, atol=1e-12, msg=case)
    model = part_worker.network(name)
    alone = fit(model, data, split, part_worker.CONFIG).history
    for ours, record in zip(alone, theirs["history"], strict=True):
        assert ours.keys() == record.keys()
        for key, value in ours.items():
            assert record[key] == pytest.approx(value, rel=1e-8, abs=1e-11), (case, key)
    for key, value in theirs["weights"].items():
        ours = model.state_dict()[key].flatten()
        torch.testing.assert_close(torch.tensor(value, dtype=torch.float64), ours, rtol=1e-7, atol=1e-9, msg=case)
