import numpy as np
import pytest

from figure_runs import embedded
from kappagcn.figures.factors import embedding
from kappagcn.figures.style import LIGHT, styled
from kappagcn.run_folder import Embedded


def test_drawn_nodes_are_where_they_were_embedded():
    told = embedded()
    with styled(LIGHT):
        figure = embedding(LIGHT, told, "title")
    disk, plane, globe = figure.axes[:3]
    for axis, columns in ((disk, slice(0, 2)), (plane, slice(2, 4))):
        drawn = np.concatenate([each.get_offsets() for each in axis.collections if len(each.get_offsets()) > 1])
        np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(told.points[:, columns.start]), atol=1e-9)
    assert "shows" in globe.get_title()
    assert "κ = −1" in disk.get_title()


@pytest.mark.parametrize("dims", [(1,), (2,), (2, 2, 2)])
def test_odd_graphs_are_drawn(dims, tmp_path):
    told = embedded(dims, nodes=3)
    alone = Embedded(**{**vars(told), "edges": np.zeros((0, 2), np.int64)})
    with styled(LIGHT):
        for each in (told, alone):
            embedding(LIGHT, each, "few").savefig(tmp_path / "few.png")
