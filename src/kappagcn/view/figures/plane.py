"""Two dimensions of many: points projected onto the totally geodesic surface that shows most of them."""

import torch
from torch import Tensor

from kappagcn.geometry import lift, lower
from kappagcn.run_folder import principal


def best_plane(tangent: Tensor, k: float) -> tuple[Tensor, float]:
    """Tangent vectors (N, D) in two dimensions, (N, 2), and the share of their squared lengths that remains.

    The plane is spanned by the two principal directions of the tangent vectors. Points go there along geodesics at
    right angles to it: in ambient coordinates the other directions are dropped and the rest is scaled back onto the
    sphere or hyperboloid. Two dimensions or fewer are left as they are.
    """
    v = tangent.double()
    if v.shape[1] <= 2:
        return torch.nn.functional.pad(v, (0, 2 - v.shape[1])), 1.0
    axes, share = principal(v.numpy())
    lifted = lift(v, k=k)
    return lower(torch.cat([lifted[:, :-1] @ torch.from_numpy(axes[:, :2].copy()), lifted[:, -1:]], dim=1), k=k), share
