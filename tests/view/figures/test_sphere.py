import numpy as np
import torch

from kappagcn.geometry import lift
from kappagcn.view.figures.sphere import default_view, great_arcs, seen, view_from


def test_globes_hold_their_markers():
    unit = lift(torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64), k=1.0).numpy()
    for view in (default_view(unit), view_from(np.array([0.0, 0.0, -1.0]))):
        np.testing.assert_allclose(view @ view.T, np.eye(3), atol=1e-12)
        flat, depth = seen(unit, view)
        assert np.linalg.norm(flat, axis=1).max() <= 1 + 1e-12
        np.testing.assert_allclose((flat**2).sum(1) + depth**2, 1)
    arcs = great_arcs(unit[:-1], unit[1:])
    np.testing.assert_allclose(np.linalg.norm(arcs, axis=-1), 1)
    steps = np.linalg.norm(np.diff(arcs, axis=1), axis=-1)
    assert np.ptp(steps, axis=1).max() < 1e-9, "evenly along the arc"
    antipodes = great_arcs(unit[:1], -unit[:1])
    assert np.isfinite(antipodes).all()
