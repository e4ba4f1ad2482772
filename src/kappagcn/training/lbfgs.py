"""L-BFGS with a line search for the weak Wolfe conditions: downhill in every step, resumable after every step."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["LBFGS", "Evaluate"]

Evaluate = Callable[[Tensor], tuple[float, Tensor]]
SUFFICIENT, CURVATURE = 1e-4, 0.9  # constants of the Wolfe conditions
TRIES = 30  # evaluations of one line search
LEAST_CURVATURE = 1e-12  # smallest ⟨s, y⟩/(|s||y|) of a pair that is kept


class LBFGS:
    """Minimise a function of one vector by its values and gradients.

    The line search is by bisection (Lewis and Overton), which needs no second derivative and so also serves functions
    with kinks. A value that is not finite counts as too far.

    Args:
        evaluate: Value and gradient at a position, float64.
        position: Start, (n,).
        history: Number of pairs of steps and changes of the gradient to keep.
        largest_step: Largest move of a coordinate in one step; the first step is a tenth of that.

    Attributes:
        position: The best position so far, (n,).
        value: Value of the function at `position`.
        gradient: Gradient of the function at `position`, (n,).

    >>> minimum = LBFGS(lambda x: (float((x**4).sum()), 4 * x**3), torch.tensor([1.0, -2.0], dtype=torch.float64))
    >>> all(minimum.step() for _ in range(30)), minimum.value < 1e-6
    (True, True)
    """

    def __init__(self, evaluate: Evaluate, position: Tensor, *, history: int = 50, largest_step: float = 1.0) -> None:
        self.evaluate, self.position, self.history = evaluate, position.double(), history
        self.largest_step = largest_step
        self.value, self.gradient = evaluate(self.position)
        self.pairs: list[tuple[Tensor, Tensor]] = []

    def step(self) -> bool:
        """Take one step downhill; False if none was possible, and nothing has changed."""
        if not self.gradient.any():
            return False
        if self._search(self._direction()):
            return True
        if not self.pairs:
            return False
        self.pairs.clear()
        return self._search(self._direction())

    def _direction(self) -> Tensor:
        """Minus the gradient times the estimated inverse of the second derivatives."""
        if not self.pairs:
            return -self.gradient * (0.1 * self.largest_step / self.gradient.abs().max())
        direction, shares = -self.gradient, []
        for s, y in reversed(self.pairs):
            shares.append(s.dot(direction) / s.dot(y))
            direction = direction - shares[-1] * y
        s, y = self.pairs[-1]
        direction = direction * (s.dot(y) / y.dot(y))
        for (s, y), share in zip(self.pairs, reversed(shares), strict=True):
            direction = direction + (share - y.dot(direction) / s.dot(y)) * s
        return direction

    def _search(self, direction: Tensor) -> bool:
        """Move along a direction until the Wolfe conditions hold; returns whether the value has fallen."""
        slope = float(self.gradient.dot(direction))
        if not slope < 0:
            return False
        longest = self.largest_step / float(direction.abs().max())
        low, high, length, best = 0.0, math.inf, min(1.0, longest), None
        for _ in range(TRIES):
            position = self.position + length * direction
            value, gradient = self.evaluate(position)
            if not value <= self.value + SUFFICIENT * length * slope:
                high = length
            else:
                best = position, value, gradient
                if length == longest or not float(gradient.dot(direction)) < CURVATURE * slope:
                    break
                low = length
            length = (low + high) / 2 if high < math.inf else min(2 * length, longest)
        if best is None or not best[1] < self.value:
            return False
        s, y = best[0] - self.position, best[2] - self.gradient
        if float(s.dot(y)) > LEAST_CURVATURE * float(s.norm() * y.norm()):
            self.pairs = [*self.pairs, (s, y)][-self.history :]
        self.position, self.value, self.gradient = best
        return True

    def tensors(self) -> dict[str, Tensor]:
        """The state; `load` continues from it to the same numbers."""
        none = self.position.new_zeros(0, len(self.position))
        steps, changes = (
            (torch.stack(list(part)) for part in zip(*self.pairs, strict=True)) if self.pairs else (none,) * 2
        )
        value = torch.tensor(self.value, dtype=torch.float64)
        return {
            "position": self.position, "value": value, "gradient": self.gradient, "steps": steps, "changes": changes,
        }  # fmt: skip

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Load a state that `tensors` returned, on the device of the position."""
        tensors = {name: t.to(self.position.device) for name, t in tensors.items()}
        self.position, self.gradient, self.value = tensors["position"], tensors["gradient"], float(tensors["value"])
        pairs = zip(tensors["steps"], tensors["changes"], strict=True)
        self.pairs = [(s.clone(), y.clone()) for s, y in pairs]  # views of one tensor would be summed in another order
