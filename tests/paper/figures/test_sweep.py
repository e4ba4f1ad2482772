import numpy as np
import pytest
from matplotlib import image

from kappagcn.paper.figures.measured import draw_sweep as figure_of
from kappagcn.view.figures.style import LIGHT, save, styled


def draw_sweep(kappas, distortion, flat, path):
    with styled(LIGHT) as look:
        return save(figure_of((kappas, distortion), flat, (kappas, distortion), look), path)


def test_the_curve_is_where_its_numbers_are(tmp_path):
    kappas = np.linspace(-5, 5, 50)
    rising = image.imread(draw_sweep(kappas, 0.1 + 0.05 * (kappas + 5), 0.3, tmp_path / "up.png"))
    falling = image.imread(draw_sweep(kappas, 0.1 + 0.05 * (5 - kappas), 0.3, tmp_path / "down.png"))
    blue = [(p[..., 2] > 0.6) & (p[..., 0] < 0.2) for p in (rising, falling)]  # the curve, not the reference
    middle = rising.shape[1] // 2
    heights = [[np.nonzero(half)[0].mean() for half in (b[:, :middle], b[:, middle:])] for b in blue]
    assert heights[0][0] > heights[0][1] + 50, "rows count from the top: a rising curve is lower on the left"
    assert heights[1][1] > heights[1][0] + 50


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_numbers_give_the_same_file(tmp_path, suffix):
    one, two = (draw_sweep([-1, 0, 1], [0.1, 0.2, 0.3], 0.2, tmp_path / f"{i}{suffix}").read_bytes() for i in range(2))
    assert one == two
