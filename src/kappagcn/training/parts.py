"""A trainer for processes that share every step: random numbers that depend on seed, epoch and rank alone."""

from __future__ import annotations

import torch

from kappagcn.training.trainer import Record, Trainer, seeded

MIX = 0x9E3779B97F4A7C15  # to combine three numbers to one seed


def part_seed(seed: int, epoch: int, part: int) -> int:
    """Seed of a part's random numbers in an epoch."""
    return ((seed * MIX + epoch) * MIX + part) % 2**63


class PartTrainer(Trainer):
    """A trainer whose random numbers depend on seed, epoch and rank alone, so that any number of ranks can resume.

    >>> [kind.__name__ for kind in PartTrainer.__bases__]
    ['Trainer']
    """

    def run_epoch(self) -> Record:
        """One epoch from its own seed."""
        with seeded(part_seed(self.config.random_state, self.epoch, self.communicator.rank)):
            self.random = torch.get_rng_state()
        return super().run_epoch()
