"""Runs that several tests read."""

import numpy as np
import pytest

from figure_runs import embedded, labelled, saved


@pytest.fixture
def embedding_run(tmp_path):
    ratios = {"ratio_edges": np.linspace(0, 2, 11), "ratio_counts": np.arange(10)}
    arrays = [
        {"epoch": e, "train_loss": 1 / e, "distortion": 1 / e, "curvatures": [-4.0, 0, 2.0 * e]} for e in (1, 2, 3)
    ]
    return saved(tmp_path / "run", embedded(**ratios), {"distortion": 0.33, "edge_unit": 2.0}, arrays)


@pytest.fixture
def classification_run(tmp_path):
    arrays = [
        {"epoch": e, "train_loss": 1 / e, "stopping_loss": 2 / e, "stopping_accuracy": e / 4, "curvatures": []}
        for e in (1, 2, 3)
    ]
    return saved(tmp_path / "classifier", embedded(**labelled()), {"accuracy": 0.5}, arrays)
