"""Points that are trained: free ones, and those of a κ-GCN on one-hot features."""

import pytest
import torch

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import distortion
from kappagcn.embedding.quality import measure
from kappagcn.embedding.tasks import EmbeddingTask
from kappagcn.errors import GraphError
from kappagcn.graphs import balanced_tree, cycle
from kappagcn.models import FreePoints, KappaGCN, NetworkPoints, hidden_space
from kappagcn.training.checkpoint import CheckpointFolder
from kappagcn.training.run import train
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer, seeded

TREE = balanced_tree(3, 3)


def trained(points, distances, epochs, lr=0.02):
    trainer = Trainer(
        points, EmbeddingTask(points, distances), TrainingSettings(epochs=epochs, patience=epochs, lr=lr, l2=0)
    )
    history = train(trainer)
    trainer.take_best()
    return history


@pytest.mark.parametrize("make", [FreePoints, NetworkPoints], ids=["free", "network"])
def test_a_tree_fits_the_hyperbolic_space_better_than_the_plane(make):
    distances, results = GraphDistances.of(TREE), {}
    for space in ("H4", "E4"):
        with seeded(0):
            points = make(TREE if make is NetworkPoints else TREE.num_nodes, space)
        history = trained(points, distances, 400)
        results[space] = measure(points(), points.manifold, distances).distortion
        assert results[space] == pytest.approx(min(each["distortion"] for each in history), rel=1e-6)
    assert results["H4"] < 0.05, "20 seeds show 0.03 at most"
    assert results["H4"] < 0.6 * results["E4"], "and 0.38"


def test_one_pass_an_epoch_gives_the_numbers_of_two():
    distances = GraphDistances.of(TREE)

    class Twice(EmbeddingTask):
        def loss(self):
            return distortion(self.points(), self.points.manifold, self.distances)

    results = []
    for kind in (EmbeddingTask, Twice):
        with seeded(1):
            points = NetworkPoints(TREE, "H2xS2")
        trainer = Trainer(points, kind(points, distances), TrainingSettings(epochs=20, patience=20, l2=0))
        results.append([each["distortion"] for each in train(trainer)])
    assert results[0] == pytest.approx(results[1], rel=1e-4)


def test_the_networks_points_are_the_kappa_gcns():
    with seeded(2):
        points = NetworkPoints(TREE, "H3xS2", hidden_channels=7)
    with seeded(2):
        network = KappaGCN(40, None, ["H4xS3", "H3xS2"], act="none", bias=False).double()
    wanted = network(torch.eye(40, dtype=torch.float64), TREE.edge_index)
    assert torch.allclose(points(), wanted, atol=1e-6)
    assert points.manifold.dim == 5


def test_a_network_starts_at_the_points_it_is_asked_for():
    """As near as smoothing by Â² can come, in nearly flat space."""
    points = NetworkPoints(TREE, "H2(-1e-6)xS1(1e-6)")
    asked = torch.randn(40, 3, dtype=torch.float64)
    smooth = points.adjacency.to(torch.float64) @ (points.adjacency.to(torch.float64) @ asked)
    points.start_at(smooth)
    assert (points() - smooth).norm() < 0.1 * smooth.norm()


def test_an_interrupted_embedding_resumes_to_the_same_numbers(tmp_path):
    distances = GraphDistances.of(cycle(12))
    config = TrainingSettings(epochs=30, patience=30, l2=0)

    def trainer():
        with seeded(3):
            points = FreePoints(12, "S2(0.1)")
        return Trainer(points, EmbeddingTask(points, distances), config)

    whole = train(trainer())
    half = trainer()
    folder = CheckpointFolder(tmp_path / "run")
    history = folder.start({"graph": "cycle"}, half)
    for _ in range(11):
        history.append(half.run_epoch())
    folder.save(half, history)
    second = trainer()
    folder = CheckpointFolder(tmp_path / "run")
    history = folder.start({"graph": "cycle"}, second, resume=True)
    assert len(history) == 11
    assert train(second, folder=folder, history=history) == whole


def test_a_hidden_layer_needs_a_dimension_for_each_factor():
    assert hidden_space("H5xS5(0.3)", 7) == "H4xS3(0.3)"
    with pytest.raises(GraphError, match="hidden: expected at least 4 dimensions"):
        hidden_space("H2^4", 3)
