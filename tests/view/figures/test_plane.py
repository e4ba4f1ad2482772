import pytest
import torch

from figure_runs import KAPPAS
from kappagcn.geometry import tangent_dist
from kappagcn.view.figures.factors import best_plane


@pytest.mark.parametrize("k", KAPPAS)
def test_two_dimensions_are_kept_as_they_are(k):
    tangent = 0.4 * torch.randn(20, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    shown, share = best_plane(tangent, k)
    assert torch.equal(shown, tangent)
    assert share == 1
    turned = torch.linalg.qr(torch.randn(5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)).Q
    shown, share = best_plane(tangent @ turned[:2], k)  # a plane in five dimensions: an isometry
    assert share == pytest.approx(1)
    i, j = torch.triu_indices(20, 20, 1)
    torch.testing.assert_close(tangent_dist(shown[i], shown[j], k=k), tangent_dist(tangent[i], tangent[j], k=k))


def tan_k(r, k):
    s = abs(k) ** 0.5
    return torch.tanh(s * r) / s if k < 0 else torch.tan(s * r) / s if k > 0 else r


@pytest.mark.parametrize("k", KAPPAS)
def test_points_go_to_the_best_plane_at_right_angles(k):
    generator = torch.Generator().manual_seed(0)
    tangent = torch.randn(30, 4, generator=generator, dtype=torch.float64) * torch.tensor([0.05, 0.3, 0.02, 0.2])
    shown, share = best_plane(tangent, k)
    _, sizes, directions = torch.linalg.svd(tangent)
    assert share == pytest.approx(float(sizes[:2].square().sum() / sizes.square().sum()))
    within = (tangent @ directions[:2].T).norm(dim=1) / tangent.norm(dim=1)
    # In a triangle with a right angle, tan_κ(adjacent) = tan_κ(hypotenuse) · cos(angle), whatever κ.
    torch.testing.assert_close(tan_k(2 * shown.norm(dim=1), k), tan_k(2 * tangent.norm(dim=1), k) * within)
