"""The training engine: what it optimises, when it stops, what it refuses, how it survives."""

import itertools
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from torch import nn

from kappagcn.errors import CheckpointError, DivergedError, PrecisionWarning, SplitError, TestNodesError, TrainingError
from kappagcn.graphs import Split, disease, random_split
from kappagcn.models import GCN, HGCN, MLP, KappaGCN
from kappagcn.training import (
    EarlyStopping,
    RunFolder,
    Trainer,
    TrainingConfig,
    final_evaluation,
    fit,
    load_model,
    predict,
    reporting,
    seeded,
    train,
)
from kappagcn.training.tasks import NodeClassification


@pytest.fixture
def data():
    data = disease(200)
    data.x = 0.1 * data.x
    return data


@pytest.fixture
def split(data):
    return random_split(data.y, 0)


def network(signature="H4", seed=0, **options):
    with seeded(seed):
        return KappaGCN(10, 2, signature, **{"dropout": 0.3, "adjacency_dropout": 0.2, "dropconnect": 0.1, **options})


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


# What is optimised ----------------------------------------------------------------------------------------------------


def test_a_step_is_adam_for_weights_gradient_descent_for_curvature_and_l2_on_the_first_layer(data, split):
    model = network("H2xS2", dropout=0.0, adjacency_dropout=0.0, dropconnect=0.0)
    twin = network("H2xS2", dropout=0.0, adjacency_dropout=0.0, dropconnect=0.0)
    config = TrainingConfig(lr=0.02, curvature_lr=0.3, l2=0.7)
    trainer = Trainer(model, NodeClassification(model, data, split), config, regularised=model.first_layer())
    for _ in range(3):
        record = trainer.run_epoch()
    first = twin.hidden[0].weight
    kappas = [c.raw for c in twin.curvatures()]
    others = [p for p in twin.parameters() if not any(p is q for q in [first, *kappas])]
    adam = torch.optim.Adam([first, *others], lr=0.02)
    for _ in range(3):
        twin.zero_grad()
        loss = nn.functional.cross_entropy(twin(data.x, data.edge_index)[split.train], data.y[split.train])
        (loss + 0.35 * first.square().sum()).backward()
        adam.step()
        with torch.no_grad():
            for kappa in kappas:
                kappa -= 0.3 * kappa.grad
    assert record["train_loss"] == pytest.approx(float(loss.detach()), rel=1e-4)  # the loss without the penalty
    for (name, mine), its in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert torch.allclose(mine, its, atol=1e-4), name
    assert record["curvatures"] == pytest.approx([float(k.detach()) for k in kappas], abs=1e-4)


@pytest.mark.parametrize("build", [network, lambda: GCN(10, 2), lambda: HGCN(10, 2), lambda: MLP(10, 2)])
def test_training_learns(build, data, split):
    with seeded(1):
        model = build()
    before = final_evaluation(model, data, split)["accuracy"]
    result = fit(model, data, split, TrainingConfig(epochs=150, patience=150))
    after = final_evaluation(model, data, split)
    assert result.history[-1]["train_loss"] < 0.6 * result.history[0]["train_loss"]
    assert after["accuracy"] > max(before, 0.6)


def test_a_curvature_started_at_plus_one_half_crosses_zero_without_a_jump():
    """On a tree with an epidemic: the loss falls as evenly through κ = 0 as before it."""
    data = disease()
    data.x = 0.2 * data.x
    with seeded(0):
        model = KappaGCN(10, 2, "S4(0.5)")
    split = random_split(data.y, 0)
    result = fit(model, data, split, TrainingConfig(epochs=100, patience=100, curvature_lr=0.3, l2=0.0))
    kappas = [record["curvatures"][0] for record in result.history]
    losses = [record["train_loss"] for record in result.history]
    assert kappas[0] > 0.45
    crossing = next(i for i, kappa in enumerate(kappas) if kappa < 0)
    assert kappas[-1] < -0.1
    steps = [b - a for a, b in itertools.pairwise(losses)]
    around = steps[crossing - 6 : crossing + 6]
    assert all(-0.02 < step < 0 for step in around)  # ever downwards
    assert max(abs(b - a) for a, b in itertools.pairwise(around)) < 0.002  # and ever as steeply
    # The loss as a function of κ alone has no kink at 0: its slope changes there as little as elsewhere.
    model = model.double()
    task = NodeClassification(model, data.update({"x": data.x.double()}), split)
    raw, values = model.curvatures()[0].raw, []
    with torch.no_grad():
        for kappa in torch.linspace(-0.004, 0.004, 9).tolist():
            raw.fill_(kappa)
            values.append(float(task.loss()))
    once = [b - a for a, b in itertools.pairwise(values)]
    twice = [b - a for a, b in itertools.pairwise(once)]
    assert 0 < max(twice) < 3 * min(twice)  # ReLUs have kinks of their own, elsewhere


# When it stops --------------------------------------------------------------------------------------------------------


def test_early_stopping_follows_the_appendix():
    rule = EarlyStopping(patience=3)
    numbers = [(1.0, 0.5), (0.8, 0.6), (0.9, 0.7), (0.85, 0.7), (0.82, 0.65), (0.7, 0.1)]
    kept = []
    for epoch, (loss, score) in enumerate(numbers, 1):
        if rule.update(epoch, loss, score):
            kept.append(epoch)
        if rule.is_over(epoch):
            break
    assert kept == [1, 2, 3, 4]  # epoch 4 has the score of 3 with a lower loss
    assert epoch == 5  # three epochs after the lowest loss, in epoch 2
    assert rule.best_epoch == 4


def test_the_best_weights_are_kept_by_copy(data, split):
    model = network()
    seen = {}

    def watch(record):
        seen[record["epoch"]] = {name: t.clone() for name, t in model.state_dict().items()}

    result = fit(model, data, split, TrainingConfig(epochs=300, patience=20, lr=0.05), callbacks=[watch])
    assert 1 <= result.best_epoch < result.epochs
    same(dict(model.state_dict()), seen[result.best_epoch])
    scores = [(r["stopping_accuracy"], -r["stopping_loss"]) for r in result.history]
    assert max(range(len(scores)), key=lambda i: scores[i]) == result.best_epoch - 1
    assert result.best is result.history[result.best_epoch - 1]


def test_patience_ends_a_run(data, split):
    result = fit(network(), data, split, TrainingConfig(epochs=3000, patience=5, lr=0.1))
    assert result.stopped_by == "patience"
    losses = [r["stopping_loss"] for r in result.history]
    assert result.epochs - (losses.index(min(losses)) + 1) == 5


def test_without_stopping_nodes_the_training_loss_decides(data):
    nodes = torch.arange(200)
    split = Split(nodes[:150], [], [], nodes[150:])
    result = fit(network(dropout=0.0, adjacency_dropout=0.0, dropconnect=0.0), data, split, TrainingConfig(epochs=5))
    assert "validation_accuracy" not in result.history[0]
    assert result.epochs == 5


# The same numbers -----------------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_numbers_and_leaves_the_callers_random_state(data, split):
    config = TrainingConfig(epochs=20, seed=3)
    torch.manual_seed(5)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    one = fit(first := network("H2xS2"), data, split, config)
    assert torch.equal(torch.rand(3), drawn)
    two = fit(second := network("H2xS2"), data, split, config)
    assert one.history == two.history
    same(dict(first.state_dict()), dict(second.state_dict()))
    three = fit(network("H2xS2"), data, split, TrainingConfig(epochs=20, seed=4))
    assert three.history != one.history


@pytest.mark.parametrize("stop", [1, 7, 19])
def test_a_resumed_run_ends_in_the_same_bits(stop, data, split, tmp_path):
    config = TrainingConfig(epochs=30, seed=1)
    whole = fit(one := network("U2xH2"), data, split, config, folder=tmp_path / "whole")

    class Stopped(Exception):
        pass

    def interrupt(record):
        if record["epoch"] == stop:
            raise Stopped

    with pytest.raises(Stopped):
        fit(network("U2xH2"), data, split, config, folder=tmp_path / "b", callbacks=[interrupt], checkpoint_seconds=0)
    other = network("U2xH2", seed=99)  # its own weights do not matter: the checkpoint has them
    torch.manual_seed(stop)  # nor does the caller's random state
    resumed = fit(other, data, split, config, folder=tmp_path / "b", resume=True)
    assert resumed.history == whole.history
    same(dict(other.state_dict()), dict(one.state_dict()))
    for file in ("metrics.jsonl", "config.json"):
        assert (tmp_path / "b" / file).read_text() == (tmp_path / "whole" / file).read_text()
    again = fit(network("U2xH2"), data, split, config, folder=tmp_path / "b", resume=True)  # finished: nothing to do
    assert again.history == whole.history


KILLED = """
import sys, torch
from kappagcn.graphs import disease, random_split
from kappagcn.models import KappaGCN
from kappagcn.training import TrainingConfig, fit, seeded
torch.set_num_threads(1)
data = disease(200)
data.x = 0.1 * data.x
with seeded(0):
    model = KappaGCN(10, 2, "H2xS2", dropout=0.3, adjacency_dropout=0.2)
say = lambda record: print(record["epoch"], flush=True)
fit(model, data, random_split(data.y, 0), TrainingConfig(epochs=int(sys.argv[2]), patience=10_000), folder=sys.argv[1],
    resume=True, callbacks=[say], checkpoint_seconds=0.02)
"""


def test_a_run_killed_at_a_random_moment_ends_in_the_same_bits(tmp_path):
    epochs = "150"

    def start(folder):
        command = [sys.executable, "-c", KILLED, str(folder), epochs]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def finish(process):
        process.communicate()
        assert process.returncode == 0

    process = start(tmp_path / "killed")
    process.stdout.readline()  # training has begun
    time.sleep(random.SystemRandom().random())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    finish(start(tmp_path / "killed"))
    finish(start(tmp_path / "whole"))
    for file in ("metrics.jsonl", "model.safetensors", "checkpoint.safetensors"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file
    assert len((tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()) == 150
    assert not list((tmp_path / "killed").glob("*.part"))


def test_a_saved_network_predicts_as_the_one_that_was_trained(data, split, tmp_path):
    model = network("S2xE2")
    fit(model, data, split, TrainingConfig(epochs=10), folder=tmp_path)
    loaded = load_model(tmp_path)
    assert torch.equal(predict(loaded, data), predict(model, data))
    assert torch.allclose(predict(loaded, data).sum(1), torch.ones(200))
    assert loaded.options == model.options


# What it refuses ------------------------------------------------------------------------------------------------------


def with_x(data, change):
    data.x = data.x.clone()
    change(data.x)
    return data


def spoil(x):
    x[7, 3] = math.nan


CASES = {
    "NaN features": (lambda d, s: (with_x(d, spoil), s), "1 entries that are NaN or infinite, first in row 7"),
    "no features": (lambda d, s: (d.update({"x": None}), s), "expected features, data.x"),
    "integer features": (lambda d, s: (d.update({"x": d.x.long()}), s), "floating-point numbers, .*found torch.int64"),
    "other width": (
        lambda d, s: (d.update({"x": d.x[:, :4]}), s),
        "expected 10 features, as the network takes, found 4",
    ),
    "class missing": (
        lambda d, s: (d, Split(s.train[d.y[s.train] == 0], s.stopping, s.validation, [])),
        "training nodes of all 2 classes, found none of class 1",
    ),
    "edge out of range": (
        lambda d, s: (d.update({"edge_index": d.edge_index + 1}), s),
        "edges between nodes 0 and 199, found 1 to 200",
    ),
    "labels for others": (lambda d, s: (d.update({"y": d.y[:50]}), s), r"data.y \(200,\) of int64, found"),
    "a class too many": (
        lambda d, s: (d.update({"y": d.y * 3}), s),
        "expected classes 0 to 1, as the network has, found 3",
    ),
    "unlabelled": (lambda d, s: (d.update({"y": d.y - 1}), s), "a class for every train node"),
    "NaN weights": (
        lambda d, s: (d.update({"edge_weight": torch.full((d.edge_index.shape[1],), math.nan)}), s),
        "finite edge weights from 0",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_trained_is_named_before_training_starts(case, data, split, tmp_path):
    change, words = CASES[case]
    spoilt, other = change(data, split)
    with pytest.raises(TrainingError, match=words):
        fit(network(), spoilt, other, TrainingConfig(epochs=1), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_nan_in_sparse_features_is_found_too(data, split):
    spoilt = with_x(data, spoil)
    spoilt.x = spoilt.x.to_sparse_csr()
    with pytest.raises(TrainingError, match="1 entries that are NaN"):
        fit(network(), spoilt, split)


def test_no_training_nodes(data):
    with pytest.raises(SplitError, match="expected nodes to train on, found none"):
        Split([], [0], [1], [2])
    data.train_mask = torch.zeros(200, dtype=torch.bool)
    with pytest.raises(SplitError, match="expected nodes to train on, found none"):
        fit(network(), data)
    del data.train_mask
    with pytest.raises(SplitError, match=r"data\.train_mask, found neither"):
        fit(network(), data)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"epochs": 0}, "epochs: expected at least 1"), ({"lr": math.nan}, "lr: expected"), ({"l2": -1.0}, "l2: expected"),
     ({"patience": -3}, "patience: expected"), ({"seed": -1}, "seed: expected")],
)  # fmt: skip
def test_wrong_settings_are_named(options, words):
    with pytest.raises(TrainingError, match=words):
        TrainingConfig(**options)


def test_masks_make_a_split(data, split):
    masks = split.masks(200) | {"test_mask": torch.zeros(200, dtype=torch.bool)}
    data.update(masks)
    found = Split.from_masks(data)
    for part in ("train", "stopping", "validation"):
        assert torch.equal(getattr(found, part), getattr(split, part).sort().values)
    data.train_mask = data.train_mask[:10]
    with pytest.raises(SplitError, match="train_mask: expected booleans"):
        Split.from_masks(data)


# Diverging ------------------------------------------------------------------------------------------------------------


class Poisoned(KappaGCN):
    """A network that breaks in the middle of training, where it is told."""

    def __init__(self, where, at, **options):
        super().__init__(10, 2, "H4", **options)
        self.where, self.at, self.calls = where, at, 0

    def forward(self, x, edge_index, edge_weight=None):
        out = super().forward(x, edge_index, edge_weight)
        self.calls += self.training
        now = self.calls == self.at
        if now and self.where == "loss" and self.training:
            return out * math.nan
        if now and self.where == "gradient" and self.training:
            weight = self.hidden[0].weight
            return out + 0 * (weight.sum() - weight.sum().detach()).sqrt()  # the root's slope at 0 is infinite
        if now and self.where == "stopping" and not self.training:
            return out + math.inf
        return out


@pytest.mark.parametrize(
    ("where", "quantity"),
    [
        ("loss", "training loss"),
        ("gradient", r"norm of the gradient of hidden\.0\.weight"),
        ("stopping", "stopping loss"),
    ],
)
def test_a_nan_in_mid_training_stops_with_the_last_good_state_saved(where, quantity, data, split, tmp_path):
    config = TrainingConfig(epochs=20)
    with seeded(0):
        model = Poisoned(where, 7)
    seen = []

    def watch(record):
        seen.append({name: t.clone() for name, t in model.state_dict().items()})

    with pytest.raises(DivergedError, match=f"epoch 7: expected a finite {quantity}, found (nan|inf)") as caught:
        fit(model, data, split, config, folder=tmp_path / "run", callbacks=[watch])
    assert str(tmp_path / "run" / "checkpoint.safetensors") in str(caught.value)
    assert caught.value.epoch == 7
    assert len(seen) == 6
    same(dict(model.state_dict()), seen[-1])
    fresh = network("H4", seed=9, dropout=0.0, adjacency_dropout=0.0, dropconnect=0.0)
    trainer = Trainer(fresh, NodeClassification(fresh, data, split), config)
    from kappagcn.training.checkpoint import load_tensors

    trainer.load(*load_tensors(tmp_path / "run" / "checkpoint.safetensors"))
    same(dict(fresh.state_dict()), seen[-1])
    assert trainer.epoch == 6
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 6


def test_a_weight_that_overflows_is_named(data, split):
    model = network()
    with pytest.raises(DivergedError, match=r"epoch [12]: expected a finite norm of the weights \S+, found (inf|nan)"):
        fit(model, data, split, TrainingConfig(epochs=50, lr=3.3e38))
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_rows_beyond_the_precision_are_told(data, split):
    data.x = torch.ones(200, 10)
    model = network(activation="none", dropout=0.0)
    model.hidden[0].weight.data.fill_(1.0)
    with pytest.warns(PrecisionWarning, match="double=True"):
        result = fit(model, data, split, TrainingConfig(epochs=1))
    assert result.capped_rows > 0


# Test nodes -----------------------------------------------------------------------------------------------------------


def test_test_labels_are_never_seen_in_training(data, split):
    """With the labels of all test nodes wrong, training does not notice."""
    config = TrainingConfig(epochs=10)
    one = fit(network(), data, split, config)
    spoilt = data.clone()
    spoilt.y = data.y.clone()
    spoilt.y[split.final_test_nodes()] = 1 - data.y[split.final_test_nodes()]
    two = fit(model := network(), spoilt, split, config)
    assert one.history == two.history
    assert (NodeClassification(model, data, split).labels[split.final_test_nodes()] == -1).all()
    right, wrong = final_evaluation(model, data, split), final_evaluation(model, spoilt, split)
    assert right["accuracy"] == pytest.approx(1 - wrong["accuracy"])
    with pytest.raises(TestNodesError):
        _ = split.test


def test_the_final_evaluation_counts_right(data, split):
    model = network()
    found = final_evaluation(model, data, split)
    nodes = split.final_test_nodes()
    labels, truth = predict(model, data)[nodes].argmax(1), data.y[nodes]
    f1 = []
    for c in (0, 1):
        hit = int(((labels == c) & (truth == c)).sum())
        f1.append(2 * hit / (int((labels == c).sum()) + int((truth == c).sum())))
    assert found["accuracy"] == pytest.approx(float((labels == truth).float().mean()))
    assert found["macro_f1"] == pytest.approx(sum(f1) / 2)
    with pytest.raises(TrainingError, match="test nodes for the final evaluation, found none"):
        final_evaluation(model, data, Split([0], [], [], []))


# Run folders ----------------------------------------------------------------------------------------------------------


def test_a_run_folder_is_never_overwritten_or_mixed_up(data, split, tmp_path):
    config = TrainingConfig(epochs=3)
    fit(network(), data, split, config, folder=tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert set(before) == {"config.json", "checkpoint.safetensors", "metrics.jsonl", "model.safetensors"}
    about = json.loads(before["config.json"])
    assert about["model"] == "kappa-gcn"
    assert about["training"]["epochs"] == 3
    with pytest.raises(CheckpointError, match="holds a run already; resume it, or name another"):
        fit(network(), data, split, config, folder=tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"found training\.epochs 4 instead of 3\. Name another folder"):
        fit(network(), data, split, TrainingConfig(epochs=4), folder=tmp_path / "run", resume=True)
    with pytest.raises(CheckpointError, match=r"found options\.space H5 instead of H4"):
        fit(network("H5"), data, split, config, folder=tmp_path / "run", resume=True)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match="expected a folder for the run, found a file"):
        fit(network(), data, split, config, folder=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("damage", [b"", b"not a checkpoint", None])
def test_damaged_checkpoints_are_named(damage, data, split, tmp_path):
    config = TrainingConfig(epochs=3)
    fit(network(), data, split, config, folder=tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:200] if damage is None else damage)
    with pytest.raises(CheckpointError, match=r"checkpoint\.safetensors: expected a training state"):
        fit(network(), data, split, config, folder=tmp_path, resume=True)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="expected a finished run, found one that was interrupted"):
        load_model(tmp_path)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: .*found no such file"):
        load_model(tmp_path / "elsewhere")


def test_lines_of_progress_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr("kappagcn.training.progress.LINE_SECONDS", -1.0)
    with reporting("disease", 50) as report:
        report({"epoch": 3, "train_loss": 0.5, "stopping_accuracy": 0.75})
    assert capsys.readouterr().err == "disease: epoch 3 of at most 50, loss 0.5000, accuracy 0.750\n"


# Findings of reviews --------------------------------------------------------------------------------------------------


def test_a_run_goes_on_only_with_its_own_data_and_nodes(data, split, tmp_path):
    """Else test nodes of one split could train in another under the same name."""
    config = TrainingConfig(epochs=3)
    fit(network(), data, split, config, folder=tmp_path)
    other = random_split(data.y, 0, test_seed=5)
    assert other.name == split.name
    with pytest.raises(CheckpointError, match=r"nodes \w+ instead of"):
        fit(network(), data, other, config, folder=tmp_path, resume=True)
    for change in ({"x": 2 * data.x}, {"edge_index": data.edge_index[:, 2:]}):
        with pytest.raises(CheckpointError, match=r"found data \w+ instead of"):
            fit(network(), data.clone().update(change), split, config, folder=tmp_path, resume=True)
    with pytest.raises(CheckpointError, match=r"dtype torch\.float64 instead of torch\.float32"):
        fit(
            network().double(), data.clone().update({"x": data.x.double()}), split, config, folder=tmp_path, resume=True
        )


def test_a_network_of_doubles_comes_back_as_one(data, split, tmp_path):
    data.x = data.x.double()
    model = network().double()
    fit(model, data, split, TrainingConfig(epochs=3), folder=tmp_path)
    assert torch.equal(predict(load_model(tmp_path), data), predict(model, data))


def test_a_nan_after_the_step_takes_adam_back_too(data, split, tmp_path):
    """The saved state is that of a run that ended one epoch before."""
    from kappagcn.training.checkpoint import load_tensors

    with seeded(0):
        model = Poisoned("stopping", 5)
    with pytest.raises(DivergedError, match="epoch 5"):
        fit(model, data, split, TrainingConfig(epochs=20), folder=tmp_path / "poisoned")
    with seeded(0):
        clean = Poisoned("never", 0)
    fit(clean, data, split, TrainingConfig(epochs=4), folder=tmp_path / "clean")
    saved, wanted = (load_tensors(tmp_path / name / "checkpoint.safetensors")[0] for name in ("poisoned", "clean"))
    same(saved, wanted)


INTERRUPTED = KILLED.replace("checkpoint_seconds=0.02", "checkpoint_seconds=1000")


def test_ctrl_c_saves_the_last_whole_epoch(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "run"), "100000"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    for _ in range(20):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    last = int(re.search(r"KeyboardInterrupt: after epoch (\d+), saved in", err)[1])
    assert last >= 20
    assert "resume=True goes on from there" in err
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == last


def test_a_training_of_ones_own(tmp_path):
    """Any module, with a task: folder, callbacks and resume as for node classifiers."""

    class Line(nn.Module):
        def __init__(self):
            super().__init__()
            self.slope = nn.Parameter(torch.zeros(()))

    class Task:
        def __init__(self, model):
            self.model = model

        def loss(self):
            return (self.model.slope - 3) ** 2

        def metrics(self):
            return {"loss": float(self.loss())}

        def watched(self, metrics):
            return metrics["loss"], -metrics["loss"]

    def run(folder, callbacks=(), resume=False):
        model = Line()
        trainer = Trainer(model, Task(model), TrainingConfig(epochs=600, patience=600, lr=0.1))
        place = RunFolder(folder)
        history = place.start({"task": "a line"}, trainer, resume=resume)
        history = train(trainer, folder=place, history=history, callbacks=callbacks, checkpoint_seconds=0)
        trainer.take_best()
        return model, history

    def stop(record):
        if record["epoch"] == 50:
            raise InterruptedError

    model, history = run(tmp_path / "whole")
    assert len(history) == 600
    assert float(model.slope.detach()) == pytest.approx(3, abs=1e-3)
    with pytest.raises(InterruptedError):
        run(tmp_path / "stopped", [stop])
    other, resumed = run(tmp_path / "stopped", resume=True)
    assert resumed == history
    assert torch.equal(other.slope, model.slope)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(TrainingError, match="expected parameters to train, found none"):
        Trainer(model, Task(model), TrainingConfig())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, d, s: fit(m, d, TrainingConfig()), "expected a Split, such as random_split"),
        (lambda m, d, s: fit(m, d, "random"), "expected a Split, .*found str"),
        (lambda m, d, s: fit(m, d, s, {"epochs": 3}), "expected a TrainingConfig, found dict"),
        (lambda m, d, s: fit(m, d, s, resume=True), "expected the folder of the run"),
        (lambda m, d, s: fit(nn.Linear(3, 2), d, s), "expected a network of kappagcn.models, found Linear"),
        (lambda m, d, s: fit(m, "cora", s), "expected a graph as PyG's Data, found str"),
        (lambda m, d, s: fit(m, d.update({"x": d.x.double()}), s), "features of torch.float32, as the"),
        (lambda m, d, s: fit(m, d.update({"x": d.x.numpy()}), s), "as a tensor .*found ndarray"),
        (lambda m, d, s: fit(m, d.update({"y": d.y.int()}), s), "of int64, found torch.int32"),
        (lambda m, d, s: fit(m, d.update({"edge_weight": [1.0]}), s), "expected one weight per edge"),
        (lambda m, d, s: fit(m, d.update({"edge_weight": -torch.ones(d.num_edges)}), s), "edge weights from 0"),
        (lambda m, d, s: predict("runs/a", d), "expected a network of kappagcn.models, found str"),
        (lambda m, d, s: final_evaluation(m, d.update({"y": d.y + 5}), s), "classes 0 to 1, found 5 to 6"),
        (lambda m, d, s: final_evaluation(m, d.update({"y": None}), s), "data.y .*found NoneType"),
        (lambda m, d, s: TrainingConfig(epochs=2.5), "epochs: expected a whole number, found 2.5"),
        (lambda m, d, s: TrainingConfig(lr="0.1"), "lr: expected a number from 0, found '0.1'"),
    ],
)
def test_common_mistakes_end_in_a_sentence(call, words, data, split):
    with pytest.raises(TrainingError, match=words):
        call(network(), data, split)


def test_garbage_in_the_metrics_is_named(data, split, tmp_path):
    fit(network(), data, split, TrainingConfig(epochs=3), folder=tmp_path)
    (tmp_path / "metrics.jsonl").write_text("{}\nnot json\n{}\n")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: expected one record per line"):
        fit(network(), data, split, TrainingConfig(epochs=3), folder=tmp_path, resume=True)


def test_files_of_a_run_have_the_usual_mode(data, split, tmp_path):
    fit(network(), data, split, TrainingConfig(epochs=1), folder=tmp_path)
    (tmp_path / "plain").write_text("")
    assert {path.stat().st_mode for path in tmp_path.iterdir()} == {(tmp_path / "plain").stat().st_mode}


def test_options_may_be_numpy_numbers(data, split, tmp_path):
    with seeded(0):
        model = KappaGCN(np.int64(10), np.int64(2), "H4", dropout=np.float32(0.25))
    fit(model, data, split, TrainingConfig(epochs=1), folder=tmp_path)
    assert torch.equal(predict(load_model(tmp_path), data), predict(model, data))
