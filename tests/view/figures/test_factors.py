import numpy as np
import pytest

from figure_runs import embedded
from kappagcn.run_folder import Embedded
from kappagcn.view.figures.factors import embedding
from kappagcn.view.figures.style import LIGHT, styled


def test_drawn_nodes_are_where_they_were_embedded():
    arrays = embedded()
    with styled(LIGHT):
        figure = embedding(LIGHT, arrays, "title")
    disk, plane, globe = figure.axes[:3]
    for axis, columns in ((disk, slice(0, 2)), (plane, slice(2, 4))):
        drawn = np.concatenate([each.get_offsets() for each in axis.collections if len(each.get_offsets()) > 1])
        np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(arrays.points[:, columns.start]), atol=1e-9)
    assert "shows" in globe.get_title()
    assert "κ = −1" in disk.get_title()


@pytest.mark.parametrize("dims", [(1,), (2,), (2, 2, 2)])
def test_odd_graphs_are_drawn(dims, tmp_path):
    arrays = embedded(dims, nodes=3)
    alone = Embedded(**{**vars(arrays), "edges": np.zeros((0, 2), np.int64)})
    with styled(LIGHT):
        for each in (arrays, alone):
            embedding(LIGHT, each, "few").savefig(tmp_path / "few.png")


def test_the_locator_of_a_close_up_covers_no_node():
    rng = np.random.default_rng(0)
    near = embedded((2,), nodes=40)
    tangent = 0.1 * rng.uniform(-1, 1, near.tangent.shape)
    close = Embedded(**{**vars(near), "tangent": tangent, "points": tangent})
    with styled(LIGHT):
        figure = embedding(LIGHT, close, "close")
    figure.draw_without_rendering()
    (axis,) = [each for each in figure.axes if each.child_axes]
    box = axis.child_axes[0].get_window_extent()
    drawn = np.concatenate([each.get_offsets() for each in axis.collections if len(each.get_offsets()) > 1])
    inside = [box.contains(*place) for place in axis.transData.transform(drawn)]
    assert len(drawn) >= 40
    assert not any(inside)
