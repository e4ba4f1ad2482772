"""Link prediction as a task: what it sees, folds, batches, workers, and the final evaluation."""

import json

import pytest
import torch

import link_worker
from kappagcn.errors import ConfigError
from kappagcn.graphs import EdgeSplit, LabelledPairs
from kappagcn.graphs.negatives import pair_keys
from kappagcn.links.fitting import fit_links, link_task
from kappagcn.links.task import LinkBatches, LinkPrediction, evaluate_links
from kappagcn.models import GCN, HGCN, MLP, FreePoints, KappaGCN, LinkPredictor
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import seeded
from workers import Worker

NETWORKS = {
    "kappa-gcn": lambda: KappaGCN(10, None, "H2xS2", num_layers=2),
    "gcn": lambda: GCN(10, None, 4),
    "hgcn": lambda: HGCN(10, None, 4),
    "mlp": lambda: MLP(10, None, 4),
    "free": lambda: FreePoints(200, "H4"),
}


@pytest.fixture(scope="module")
def data():
    return link_worker.prepared()[0]


@pytest.fixture(scope="module")
def split():
    return link_worker.prepared()[1]


def messages(adjacency, n):
    """Keys of the edges in a matrix, without loops."""
    pairs = torch.stack((adjacency.rows, adjacency.cols)).long()
    return set(pair_keys(pairs[:, pairs[0] != pairs[1]], n).tolist())


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("batch_size", [None, 64])
def test_every_encoder_learns_links(name, batch_size, data, split):
    with seeded(0):
        model = LinkPredictor(NETWORKS[name](), "dot" if name == "mlp" else "fermi-dirac")
    config = TrainingSettings(epochs=15, lr=0.03, l2=0.0)
    result = fit_links(model, data, split, config, batch_size=batch_size, folds=3)
    losses = [record["train_loss"] for record in result.history]
    assert min(losses[5:]) < losses[0]
    assert result.best["validation_auc"] == max(record["validation_auc"] for record in result.history)


def test_no_hidden_edge_is_seen(data, split):
    """Neither as a message nor as a training pair; and what is drawn as none is no training edge."""
    hidden = torch.cat((split.validation.edges, split.final_test_pairs().edges), 1)
    forbidden = set(pair_keys(hidden, 200).tolist())
    task = LinkPrediction(link_worker.model(), data, split, folds=4)
    for adjacency in (task.adjacency, *(adjacency for _, adjacency in task.parts)):
        assert not messages(adjacency, 200) & forbidden
    assert not set(pair_keys(task.edges, 200).tolist()) & forbidden
    assert not task.sampler.contains(task.sampler.sample(5000)).any()


def test_each_fold_is_predicted_from_the_others(data, split):
    task = LinkPrediction(link_worker.model(), data, split, folds=4)
    own = [set(pair_keys(edges, 200).tolist()) for edges, _ in task.parts]
    every = set(pair_keys(split.train, 200).tolist())
    assert len(own) == 4
    assert set.union(*own) == every
    assert sum(map(len, own)) == len(every)
    for keys, (_, adjacency) in zip(own, task.parts, strict=True):
        assert messages(adjacency, 200) == every - keys


def test_without_messages_there_are_no_folds(data, split):
    assert LinkPrediction(LinkPredictor(MLP(10, None, 4)), data, split, folds=5).folds == 1
    assert LinkPrediction(LinkPredictor(FreePoints(200, "S3")), data, split, folds=5).folds == 1


def test_one_batch_with_all_neighbours_is_the_whole_graph(data, split):
    model = link_worker.model().eval()
    whole = LinkPrediction(model, data, split)
    batches = LinkBatches(model, data, split, batch_size=1000, num_neighbors=-1)
    torch.testing.assert_close(batches.scores(split.validation.both), whole.scores(split.validation.both))
    (count,) = (count for count in batches.batches(seed=0, epoch=1))
    edges, others, _ = batches._batch
    expected = whole._loss(model(whole.x, whole.adjacency), edges, others, count)
    torch.testing.assert_close(batches.loss(), expected)


def test_an_epoch_of_batches_meets_every_edge_once(data, split):
    task = LinkBatches(link_worker.model(), data, split, batch_size=50, num_neighbors=3)
    met = [task._batch[0] for _ in task.batches(seed=1, epoch=2)]
    assert sorted(pair_keys(torch.cat(met, 1), 200).tolist()) == sorted(pair_keys(split.train, 200).tolist())
    with pytest.raises(ConfigError, match="expected a current batch"):
        LinkBatches(link_worker.model(), data, split).loss()


def test_evaluations_every_few_epochs_choose_among_themselves(data, split):
    result = fit_links(link_worker.model(), data, split, TrainingSettings(epochs=7), evaluate_every=3)
    assert [record["epoch"] for record in result.history if "validation_auc" in record] == [1, 4, 7]
    assert result.best_epoch in (1, 4, 7)


def test_patience_waits_for_an_evaluation(data, split):
    config = TrainingSettings(epochs=60, patience=4)
    result = fit_links(link_worker.model(), data, split, config, evaluate_every=10)
    aucs = {r["epoch"]: r["validation_auc"] for r in result.history if "validation_auc" in r}
    assert len(aucs) > 1
    assert result.epochs in (60, max(aucs))
    assert aucs[result.best_epoch] == max(aucs.values())


def test_two_workers_do_what_one_does(data, split, tmp_path):
    workers = [Worker(link_worker.share, rank, tmp_path) for rank in (0, 1)]
    outputs = []
    for worker in workers:
        out, err, code = worker.ended()
        assert code == 0, err
        outputs.append([json.loads(line) for line in out.splitlines()])
    assert outputs[0] == outputs[1]
    for name in ("whole", "batches"):
        one, other = (torch.load(tmp_path / f"{name}-{rank}.pt", weights_only=True) for rank in (0, 1))
        assert all(torch.equal(one[key], other[key]) for key in one)
    for options, history in zip(({"folds": 3}, {"batch_size": 31, "num_neighbors": -1}), outputs[0], strict=True):
        alone = fit_links(link_worker.model(), data, split, TrainingSettings(epochs=4), **options)
        losses = [[record["train_loss"] for record in each] for each in (alone.history, history)]
        torch.testing.assert_close(*map(torch.tensor, losses), rtol=1e-3, atol=1e-4)


def test_the_final_evaluation_has_all_metrics(data, split):
    scores = evaluate_links(LinkPrediction(link_worker.model(), data, split), split)
    assert set(scores) == {"roc_auc", "average_precision", "hits@10", "hits@50", "hits@100", "mrr"}
    assert all(0 <= value <= 1 for value in scores.values())


def test_wrong_arguments(data, split):
    none = torch.empty(2, 0, dtype=torch.int64)
    bare = EdgeSplit(split.train, LabelledPairs(none, none), LabelledPairs(none, none), 200)
    with pytest.raises(ConfigError, match="expected validation edges"):
        LinkPrediction(link_worker.model(), data, bare)
    with pytest.raises(ConfigError, match="expected a LinkPredictor, found KappaGCN"):
        link_task(KappaGCN(10, None, "H4"), data, split)
    with pytest.raises(ConfigError, match="expected 200 free points, found 7"):
        link_task(LinkPredictor(FreePoints(7, "H4")), data, split)
    with pytest.raises(ConfigError, match="folds: expected a whole number from 1"):
        LinkPrediction(link_worker.model(), data, split, folds=0)
