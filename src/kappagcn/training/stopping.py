"""Early stopping, and the choice of the epoch whose weights are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class EarlyStopping:
    """The stopping rule of the paper's appendix.

    Training stops after `patience` epochs without a lower loss; the weights of the epoch with the best score are kept.
    Loss and score are those of the early-stopping nodes. Of epochs with equal score that with the lower loss is kept.
    With `by_score` a higher score also restarts the patience (PPNP's rule).

    Epochs without an evaluation are not passed to `update`. They count towards the patience, but only the next
    evaluation decides whether it has run out.

    >>> rule = EarlyStopping(patience=2)
    >>> [rule.update(epoch, loss, score) for epoch, loss, score in [(1, 0.9, 0.5), (2, 0.7, 0.6), (3, 0.8, 0.6)]]
    [True, True, False]
    >>> rule.best_epoch, rule.is_over()
    (2, False)
    >>> rule.update(4, 0.8, 0.5), rule.is_over()
    (False, True)
    """

    patience: int
    lowest_loss: float = math.inf
    lowest_epoch: int = 0
    best_score: float = -math.inf
    best_loss: float = math.inf
    best_epoch: int = 0
    by_score: bool = False
    highest_score: float = -math.inf  # since the last start
    highest_epoch: int = 0
    evaluated_epoch: int = 0

    def update(self, epoch: int, loss: float, score: float) -> bool:
        """Add an evaluated epoch; returns whether its weights are the best so far."""
        self.evaluated_epoch = epoch
        if loss < self.lowest_loss:
            self.lowest_loss, self.lowest_epoch = loss, epoch
        better = (score, -loss) > (self.best_score, -self.best_loss)
        if score > self.highest_score:
            self.highest_score, self.highest_epoch = score, epoch
        if better:
            self.best_score, self.best_loss, self.best_epoch = score, loss, epoch
        return better

    def start_again(self, epoch: int) -> None:
        """Restart the patience after this epoch; the best score stays."""
        self.evaluated_epoch = epoch
        self.lowest_loss, self.lowest_epoch = math.inf, epoch
        self.highest_score, self.highest_epoch = -math.inf, epoch

    def is_over(self) -> bool:
        """Whether patience had run out at the last evaluation."""
        last = max(self.lowest_epoch, self.highest_epoch) if self.by_score else self.lowest_epoch
        return self.evaluated_epoch - last >= self.patience
