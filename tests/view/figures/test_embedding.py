import torch
from matplotlib import image

from kappagcn.view.figures.embedding import draw_embeddings


def test_every_geometry_is_drawn(tmp_path):
    generator = torch.Generator().manual_seed(0)
    tangent, edges = torch.randn(6, 2, generator=generator), torch.tensor([[0, i] for i in range(1, 6)])
    panels = [(f"κ = {k}", tangent, edges, k) for k in (-1.0, 0.0, 0.2)]
    picture = image.imread(draw_embeddings(panels, tmp_path / "all.png"))
    thirds = picture[..., :3].mean(-1).reshape(picture.shape[0], 3, -1)
    assert (thirds < 0.95).any(axis=0).any(axis=-1).all()  # ink in each panel
