"""Adam and SGD for points of a space (Bécigneul and Ganea, arXiv:1810.00760)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kappagcn.errors import ConfigError
from kappagcn.geometry.manifold import Manifold
from kappagcn.optim.parameter import ManifoldParameter

Group = dict[str, Any]


class Flat:
    """Ordinary parameters: with these, updates are those of ``torch.optim``."""

    def gradient(self, x: Tensor, grad: Tensor) -> Tensor:
        """The direction of steepest ascent from the derivative by the coordinates."""
        return grad

    def square(self, x: Tensor, v: Tensor) -> Tensor:
        """The contribution of a tangent vector to second moments: the square of each entry."""
        return v * v

    def move(self, x: Tensor, v: Tensor, momentum: Tensor | None) -> None:
        """Move x along v in place; momentum needs no transport."""
        x.add_(v)


class OnManifold(NamedTuple):
    """Points of a space, moved along geodesics or by retraction."""

    manifold: Manifold
    retraction: bool

    def gradient(self, x: Tensor, grad: Tensor) -> Tensor:
        """The Riemannian gradient."""
        return self.manifold.egrad2rgrad(x, grad)

    def square(self, x: Tensor, v: Tensor) -> Tensor:
        """The squared Riemannian length in each factor: one number for all its coordinates."""
        return self.manifold.component_inner(x, v, v)

    def move(self, x: Tensor, v: Tensor, momentum: Tensor | None) -> None:
        """Move x along v, and the momentum, a tangent vector at x, by parallel transport with it: both in place."""
        step = self.manifold.retract if self.retraction else self.manifold.expmap
        y = self.manifold.project(step(x, v))
        if momentum is not None:
            momentum.copy_(self.manifold.transport(x, y, momentum))
        x.copy_(y)


Space = Flat | OnManifold


class _BeforeCurvatureMoves:
    """Points and momentum as tangent vectors at the origin, where λ = 2 and lengths do not depend on κ."""

    def __init__(self, points: ManifoldParameter, momentum: Tensor | None) -> None:
        self.points, self.momentum, self.manifold = points, momentum, points.manifold
        self.coordinates = self.manifold.logmap0(points)
        self.carried = None if momentum is None else self.manifold.transport0back(points, momentum)

    def restore(self) -> None:
        """Move points that are now outside to their former distance from the origin; others stay.

        Momentum keeps its Riemannian length: near the boundary of a ball λ changes by orders of magnitude.
        """
        inside = (self.manifold.project(self.points) == self.points).all(-1, keepdim=True)
        self.points.copy_(torch.where(inside, self.points, self.manifold.expmap0(self.coordinates)))
        if self.momentum is not None and self.carried is not None:
            self.momentum.copy_(self.manifold.transport0(self.points, self.carried))


class RiemannianOptimizer(torch.optim.Optimizer):
    """Base of the optimisers: points move first, then all else; points that a step of κ left outside are restored."""

    momentum_key: str  # key of the tangent vector in a parameter's state

    def __init__(
        self, params: Any, lr: float, weight_decay: float, maximize: bool, retraction: bool, **own_settings: Any
    ) -> None:
        """Check the settings, those of all optimisers and the optimiser's own, and keep them as defaults of groups."""
        shared = {"lr": lr, "weight_decay": weight_decay, "maximize": maximize, "retraction": retraction}
        super().__init__(params, check_settings(shared | own_settings))

    def _update(self, group: Group, parameter: Tensor, grad: Tensor, space: Space) -> None:
        """Move one parameter in place; ``grad`` includes weight decay and the sign of the objective."""
        raise NotImplementedError

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move all parameters that have a gradient; returns the loss of the closure, as in ``torch.optim``, or None."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group, parameter in self._parameters():
            if isinstance(parameter, ManifoldParameter):
                self._descend(group, parameter, OnManifold(parameter.manifold, group["retraction"]))
        before = self._before_curvatures_move()
        for group, parameter in self._parameters():
            if not isinstance(parameter, ManifoldParameter):
                self._descend(group, parameter, Flat())
        for points in before:
            points.restore()
        return loss

    def _parameters(self) -> Iterator[tuple[Group, Tensor]]:
        return ((group, parameter) for group in self.param_groups for parameter in group["params"])

    def _descend(self, group: Group, parameter: Tensor, space: Space) -> None:
        grad = parameter.grad
        if grad is None:
            return
        if grad.layout != torch.strided:
            raise ConfigError(f"expected dense gradients, found {grad.layout}; use sparse=False in the embedding.")
        grad = -grad if group["maximize"] else grad
        if group["weight_decay"]:
            grad = grad.add(parameter, alpha=group["weight_decay"])
        self._update(group, parameter, grad, space)

    def _before_curvatures_move(self) -> list[_BeforeCurvatureMoves]:
        moving = {id(parameter) for _, parameter in self._parameters() if parameter.grad is not None}
        return [
            _BeforeCurvatureMoves(points, self.state[points].get(self.momentum_key))
            for _, points in self._parameters()
            if isinstance(points, ManifoldParameter) and any(id(p) in moving for p in points.manifold.parameters())
        ]


def check_settings(settings: Group) -> Group:
    """The settings, if they are in their ranges."""
    for name in ("lr", "eps", "weight_decay", "momentum"):
        if not settings.get(name, 0) >= 0:
            raise ConfigError(f"{name}: expected a number that is not negative, found {settings[name]}.")
    for i, beta in enumerate(settings.get("betas", ())):
        if not 0 <= beta < 1:
            raise ConfigError(f"betas: expected numbers from 0 to below 1, found {beta} in position {i}.")
    if settings.get("nesterov") and (not settings["momentum"] or settings["dampening"]):
        raise ConfigError(
            f"nesterov: expected a momentum and no dampening, found momentum={settings['momentum']} and "
            f"dampening={settings['dampening']}."
        )
    return settings


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
