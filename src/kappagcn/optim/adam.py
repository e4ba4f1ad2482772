"""RiemannianAdam: Adam for points of a space (Bécigneul and Ganea, arXiv:1810.00760)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.optim.base import Group, RiemannianOptimizer, Space


class RiemannianAdam(RiemannianOptimizer):
    """`torch.optim.Adam` for `ManifoldParameter`; other parameters move as in Adam.

    A point's first moment is a tangent vector, parallel transported with it; its second moment is the mean squared
    Riemannian length of its gradients, one number per point and factor, so that steps do not depend on coordinates.
    Weight decay is the L2 penalty on coordinates.

    Args:
        params: Parameters, or parameter groups with their own settings.
        lr: Learning rate; for points, the geodesic length of the first step.
        betas: Decay of the first and the second moment.
        eps: Number that is added to the denominator.
        weight_decay: L2 penalty on the coordinates.
        amsgrad: Divide by the largest second moment so far.
        maximize: Whether to maximise the objective.
        retraction: Step with `retract` in place of `expmap`, as geoopt does.

    >>> import torch
    >>> from kappagcn.geometry import Stereographic
    >>> from kappagcn.optim import ManifoldParameter
    >>> space, goal = Stereographic(1.0), torch.tensor([0.3, 0.4])
    >>> x = ManifoldParameter(torch.zeros(2), manifold=space)
    >>> optimizer = RiemannianAdam([x], lr=0.1)
    >>> space.dist2(x, goal).backward()
    >>> optimizer.step()
    >>> print(f"{space.dist0(x).item():.4f}")
    0.1000
    """

    momentum_key = "exp_avg"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        retraction: bool = False,
    ) -> None:
        super().__init__(params, lr, weight_decay, maximize, retraction, betas=betas, eps=eps, amsgrad=amsgrad)

    def _update(self, group: Group, parameter: Tensor, grad: Tensor, space: Space) -> None:
        """One step of one parameter."""
        grad = space.gradient(parameter, grad)
        square = space.square(parameter, grad)
        state = self.state[parameter]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"] = torch.zeros_like(grad)
            state["exp_avg_sq"] = torch.zeros_like(square)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = torch.zeros_like(square)
        state["step"] += 1
        beta1, beta2 = group["betas"]
        correction1, correction2 = (1 - beta ** float(state["step"]) for beta in (beta1, beta2))
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        mean_square = state["exp_avg_sq"].mul_(beta2).add_(square, alpha=1 - beta2)
        if group["amsgrad"]:
            mean_square = torch.maximum(state["max_exp_avg_sq"], mean_square, out=state["max_exp_avg_sq"])
        denominator = (mean_square.sqrt() / correction2**0.5).add_(group["eps"])
        space.move(parameter, -group["lr"] / correction1 * mean / denominator, mean)
