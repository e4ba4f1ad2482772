"""RiemannianSGD: stochastic gradient descent, with or without momentum, for points of a space."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from kappagcn.optim.base import Group, RiemannianOptimizer, Space


class RiemannianSGD(RiemannianOptimizer):
    """`torch.optim.SGD` for `ManifoldParameter`; other parameters move as in SGD.

    A point moves to exp_x(−lr·b), where b is its Riemannian gradient or, with momentum, the decaying sum of its
    gradients, which is parallel transported with the point. Weight decay is the L2 penalty on coordinates.

    Args:
        params: Parameters, or parameter groups with their own settings.
        lr: Learning rate.
        momentum: Share of the last step that is kept.
        dampening: Share of the gradient that is left out of the momentum.
        weight_decay: L2 penalty on the coordinates.
        nesterov: Look ahead along the momentum.
        maximize: Whether to maximise the objective.
        retraction: Step with `retract` in place of `expmap`, as geoopt does.

    >>> import torch
    >>> from kappagcn.geometry import Stereographic
    >>> from kappagcn.optim import ManifoldParameter
    >>> space, goal = Stereographic(-1.0), torch.tensor([0.3, 0.4])
    >>> x = ManifoldParameter(torch.zeros(2), manifold=space)
    >>> optimizer = RiemannianSGD([x], lr=0.5)
    >>> space.dist2(x, goal).backward()  # its gradient is −2·log_x(goal): half of it leads there at once
    >>> optimizer.step()
    >>> torch.allclose(x, goal)
    True
    """

    momentum_key = "momentum_buffer"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        retraction: bool = False,
    ) -> None:
        super().__init__(
            params, lr, weight_decay, maximize, retraction, momentum=momentum, dampening=dampening, nesterov=nesterov
        )

    def _update(self, group: Group, parameter: Tensor, grad: Tensor, space: Space) -> None:
        """One step of one parameter."""
        direction = space.gradient(parameter, grad)
        buffer = None
        if group["momentum"]:
            state = self.state[parameter]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = direction.clone()
            else:
                buffer.mul_(group["momentum"]).add_(direction, alpha=1 - group["dampening"])
            direction = direction.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        space.move(parameter, -group["lr"] * direction, buffer)
