import numpy as np

from kappagcn.view.curves import curvature_columns


def test_curvatures_are_in_the_units_of_the_points(embedding_run):
    epochs, kappas = curvature_columns(embedding_run)
    assert epochs == [1, 2, 3]
    np.testing.assert_allclose(kappas, [[-1, 0, 0.5], [-1, 0, 1], [-1, 0, 1.5]])
