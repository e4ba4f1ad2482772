"""One step of training, its state, and what happens when it diverges."""

import itertools
import math

import pytest
import torch
from torch import nn

from kappagcn.classification.fitting import fit
from kappagcn.classification.task import NodeClassification
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.tasks import EmbeddingTask
from kappagcn.errors import ConfigError, DivergedError
from kappagcn.graphs import balanced_tree, cycle
from kappagcn.models import FreePoints, KappaGCN
from kappagcn.training.checkpoint import CheckpointFolder
from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.run import train
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer, seeded
from small_networks import Poisoned, network, same


def test_a_step_is_adam_for_weights_gradient_descent_for_curvature_and_l2_on_the_first_layer(data, split):
    model = network("H2xS2", dropout=0.0, adjacency_dropout=0.0, dropconnect=0.0)
    twin = network("H2xS2", dropout=0.0, adjacency_dropout=0.0, dropconnect=0.0)
    config = TrainingSettings(lr=0.02, curvature_lr=0.3, l2=0.7)
    trainer = Trainer(model, NodeClassification(model, data, split), config, regularised=model.first_layer())
    for _ in range(3):
        record = trainer.run_epoch()
    first = twin.hidden[0].lin.weight
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


def test_a_curvature_started_above_zero_crosses_it_without_a_jump():
    """Points of a tree that start on a sphere: the loss falls as evenly through κ = 0 as before it."""
    embedder = GraphEmbedder("S2(1)", epochs=150, verbose=False).fit(balanced_tree(4, 2))
    kappas = [record["curvatures"][0] for record in embedder.history_]
    losses = [record["distortion"] for record in embedder.history_]
    crossing = next(i for i, kappa in enumerate(kappas) if kappa < 0)
    assert kappas[-1] < -0.1
    steps = [b - a for a, b in itertools.pairwise(losses)][max(0, crossing - 6) : crossing + 6]
    assert max(steps) < 0, "ever downwards"


def test_the_loss_has_no_kink_where_a_curvature_is_zero(data, split):
    """As a function of κ its slope changes at 0 as little as beside it. With tanh: ReLUs have kinks of their own."""
    with seeded(0):
        model = KappaGCN(10, 2, "S4(0.5)", act="tanh")
    fit(model, data, split, TrainingSettings(epochs=20))
    model = model.double()
    task = NodeClassification(model, data.update({"x": data.x.double()}), split)
    values = []
    with torch.no_grad():
        for kappa in torch.linspace(-0.004, 0.004, 9):
            model.curvatures()[0].raw.fill_(kappa)
            values.append(task.loss())
    slopes = torch.stack(values).diff()
    changes = slopes.diff()
    beside = torch.cat([changes[:3], changes[4:]])
    assert (changes[3] - beside.mean()).abs() < 0.05 * slopes.abs().mean(), "20 seeds show up to 0.005"


def test_the_best_weights_are_kept_by_copy(data, split):
    model = network()
    seen = {}

    def watch(record):
        seen[record["epoch"]] = {name: t.clone() for name, t in model.state_dict().items()}

    result = fit(model, data, split, TrainingSettings(epochs=300, patience=20, lr=0.05), callbacks=[watch])
    assert 1 <= result.best_epoch < result.epochs
    same(dict(model.state_dict()), seen[result.best_epoch])
    scores = [(r["stopping_probability"], -r["stopping_loss"]) for r in result.history]
    assert max(range(len(scores)), key=lambda i: scores[i]) == result.best_epoch - 1
    assert result.best is result.history[result.best_epoch - 1]


def test_a_seed_gives_the_same_numbers_and_leaves_the_callers_random_state(data, split):
    config = TrainingSettings(epochs=20, random_state=3)
    torch.manual_seed(5)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    one = fit(first := network("H2xS2"), data, split, config)
    assert torch.equal(torch.rand(3), drawn)
    two = fit(second := network("H2xS2"), data, split, config)
    assert one.history == two.history
    same(dict(first.state_dict()), dict(second.state_dict()))
    three = fit(network("H2xS2"), data, split, TrainingSettings(epochs=20, random_state=4))
    assert three.history != one.history


@pytest.mark.parametrize(
    ("where", "quantity"),
    [
        ("loss", "training loss"),
        ("gradient", r"norm of the gradient of hidden\.0\.lin\.weight"),
        ("stopping", "stopping loss"),
    ],
)
def test_a_nan_in_mid_training_stops_with_the_last_good_state_saved(where, quantity, data, split, tmp_path):
    config = TrainingSettings(epochs=20)
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
        fit(model, data, split, TrainingSettings(epochs=50, lr=3.3e38))
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_a_nan_after_the_step_takes_adam_back_too(data, split, tmp_path):
    """The saved state is that of a run that ended one epoch before."""
    from kappagcn.training.checkpoint import load_tensors

    with seeded(0):
        model = Poisoned("stopping", 5)
    with pytest.raises(DivergedError, match="epoch 5"):
        fit(model, data, split, TrainingSettings(epochs=20), folder=tmp_path / "poisoned")
    with seeded(0):
        clean = Poisoned("never", 0)
    fit(clean, data, split, TrainingSettings(epochs=4), folder=tmp_path / "clean")
    saved, wanted = (load_tensors(tmp_path / name / "checkpoint.safetensors")[0] for name in ("poisoned", "clean"))
    same(saved, wanted)


class Breaking:
    """A task whose metrics are not finite in one epoch."""

    def __init__(self, task, epoch):
        self.task, self.left = task, epoch

    def __getattr__(self, name):
        return getattr(self.task, name)

    def metrics(self):
        self.left -= 1
        metrics = self.task.metrics()
        return dict.fromkeys(metrics, math.nan) if self.left == 0 else metrics

    def metrics_of(self, value):
        return self.metrics()


def relative_network(data, split):
    with seeded(0):
        model = KappaGCN(10, 2, "H2xS2", relative=True, dropout=0.2)
    return Trainer(model, NodeClassification(model, data, split), TrainingSettings())


def circle():
    with seeded(0):
        return FreePoints(12, "S2(0.1)")


def sampled_points(data, split):
    points = circle()
    return Trainer(points, EmbeddingTask(points, GraphDistances.of(cycle(12))), TrainingSettings(), radius=3.0)


def all_pairs(data, split):
    points = circle()
    task = EmbeddingTask(points, GraphDistances.of(cycle(12)))
    return QuasiNewtonTrainer(points, task, TrainingSettings(), units={"points": 3.0}, radius=3.0)


@pytest.mark.parametrize("epoch", [1, 2, 5])
@pytest.mark.parametrize("make", [relative_network, sampled_points, all_pairs])
def test_all_of_the_state_is_that_of_the_epoch_before_a_failure(make, epoch, data, split):
    """Every tensor of model and optimisers, also the scale of rows, and everything that follows."""
    whole, broken = make(data, split), make(data, split)
    broken.task = Breaking(broken.task, epoch)
    for _ in range(epoch - 1):
        whole.run_epoch()
        broken.run_epoch()
    with pytest.raises(DivergedError, match=f"epoch {epoch}: .* state of epoch {epoch - 1}"):
        broken.run_epoch()
    same(broken.tensors(), whole.tensors())
    assert broken.about() == whole.about()
    assert broken.run_epoch() == whole.run_epoch()
    same(broken.tensors(), whole.tensors())


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
        trainer = Trainer(model, Task(model), TrainingSettings(epochs=80, patience=80, lr=0.2))
        place = CheckpointFolder(folder)
        history = place.start({"task": "a line"}, trainer, resume=resume)
        history = train(trainer, folder=place, history=history, callbacks=callbacks, checkpoint_seconds=0)
        trainer.take_best()
        return model, history

    def stop(record):
        if record["epoch"] == 50:
            raise InterruptedError

    model, history = run(tmp_path / "whole")
    assert len(history) == 80
    assert float(model.slope.detach()) == pytest.approx(3, abs=0.1)
    with pytest.raises(InterruptedError):
        run(tmp_path / "stopped", [stop])
    other, resumed = run(tmp_path / "stopped", resume=True)
    assert resumed == history
    assert torch.equal(other.slope, model.slope)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(ConfigError, match="expected parameters to train, found none"):
        Trainer(model, Task(model), TrainingSettings())


def test_a_trainer_that_has_run_loads_a_state_and_goes_on(data, split):
    with seeded(0):
        model = KappaGCN(10, 2, "H4")
    trainer = Trainer(model, NodeClassification(model, data, split), TrainingSettings(epochs=5))
    trainer.run_epoch()
    tensors = {name: tensor.clone() for name, tensor in trainer.tensors().items()}
    about, record = trainer.about(), trainer.run_epoch()
    trainer.load(dict(sorted(tensors.items())), about)
    assert trainer.run_epoch() == record


def with_dead_units(data, split, **config):
    """A trainer of a network of which all units but one are 0 on every node, and will stay so."""
    with seeded(0):
        model = KappaGCN(10, 2, "H4", output="midpoint")
    model.hidden[0].bias.data.copy_(torch.tensor([0.1, -100.0, -100.0, -100.0]))
    task = NodeClassification(model, data, split)
    return Trainer(model, task, TrainingSettings(**{"epochs": 24, "patience": 5, "lr": 0.01, **config}))


def test_a_network_whose_units_died_starts_again(data, split):
    trainer = with_dead_units(data, split, epochs=200, lr=0.1)
    assert trainer.task.collapsed()
    history = train(trainer)
    assert trainer.restarts == 1
    assert not trainer.task.collapsed()
    assert 5 < trainer.epoch == len(history) <= 200
    assert [record["epoch"] for record in history] == list(range(1, len(history) + 1))
    best = max(history, key=lambda record: (record["stopping_probability"], -record["stopping_loss"]))
    assert trainer.stopping.best_epoch == best["epoch"]


def test_restarts_are_limited_and_resumed_bit_for_bit(data, split, monkeypatch):
    monkeypatch.setattr(NodeClassification, "collapsed", lambda self: True)
    straight = with_dead_units(data, split, epochs=100, patience=2, lr=0.1)
    history = train(straight)
    assert straight.restarts == 3
    assert len(history) < 100
    first = with_dead_units(data, split, epochs=100, patience=2, lr=0.1)
    for _ in range(len(history) - 3):
        first.run_epoch()
    second = with_dead_units(data, split, epochs=100, patience=2, lr=0.1)
    second.load(first.tensors(), first.about())
    assert train(second) == history[-3:]


def test_restarts_count_as_epochs(data, split, monkeypatch):
    monkeypatch.setattr(NodeClassification, "collapsed", lambda self: True)
    trainer = with_dead_units(data, split, epochs=4)
    assert len(train(trainer)) == 4
    assert trainer.restarts == 0


def test_curvatures_start_again_with_the_weights(data, split):
    trainer = with_dead_units(data, split, curvature_lr=1.0)
    trainer.run_epoch()
    assert trainer.kappas() != [-1.0]
    trainer._renew_weights()
    assert trainer.kappas() == [-1.0]


@pytest.mark.parametrize("size", [1.0, 100.0])
def test_curvatures_in_units_move_by_their_rate_at_every_scale(data, split, size):
    """They move by Adam's step, the learning rate at first, and start again with the weights."""
    data.x = size * data.x
    with seeded(0):
        model = KappaGCN(10, 2, "H4", output="midpoint", relative=True)
    (curvature,) = model.curvatures()
    trainer = Trainer(model, NodeClassification(model, data, split), TrainingSettings(curvature_lr=0.01))
    trainer.run_epoch()
    assert abs(float(curvature.raw.detach() + 1)) == pytest.approx(0.01, rel=1e-3)
    trainer._renew_weights()
    assert curvature.scale == -1
    assert float(curvature.raw.detach()) == -1.0
    trainer.run_epoch()
    assert curvature.scale > 0
