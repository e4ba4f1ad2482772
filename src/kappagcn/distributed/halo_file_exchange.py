"""Halo exchange through files, for processes that take several parts of a graph in turn.

A product needs rows of the other parts, which one process computes one after the other. So a computation goes over
the parts in sweeps: each part runs up to the first exchange whose rows are not complete, writes its own rows for the
others, and stops (`TurnPause`). When all parts have written, the next sweep runs through this exchange and on to the
next, until a sweep reaches the end. Gradients go back by the same rule. The results are those of processes that
exchange rows in memory. Each sweep computes the earlier steps again, but for the sparse products, which take most of
the time: they are kept in files.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import torch
from torch import Tensor

from kappagcn.distributed.communicator import Communicator
from kappagcn.distributed.halo_exchange import Exchange
from kappagcn.distributed.part_folder import Part
from kappagcn.errors import TrainingError
from kappagcn.sparse import multiply

__all__ = ["FileExchange", "TurnPause", "TurnState"]

QUESTIONS = 64  # most calls of `any_rank` in one computation


class Key(NamedTuple):
    """An exchange of a computation: "rows", "products", "gradients" or "sums", and its number among these."""

    kind: str
    number: int


class TurnPause(BaseException):
    """Ends a part's turn where it needs rows that other parts have not yet computed."""

    def __init__(self, key: Key) -> None:
        super().__init__(f"{key.kind} of exchange {key.number} are not complete")
        self.key = key


class TurnState:
    """State of a computation in sweeps, shared by all parts.

    Attributes:
        complete: Exchanges for which all parts have written their rows.
        assumed: Numbers of the calls of `any_rank` that are answered with True.
        refuted: Calls that were answered with False although the condition held on a part: the computation has to
            start again.
        kept: Products of this computation that are in files, each with the number of its part.
    """

    def __init__(self) -> None:
        self.complete: set[Key] = set()
        self.kept: set[tuple[Key, int]] = set()
        self.assumed: set[int] = set()
        self.refuted: set[int] = set()

    def restart(self) -> None:
        """Clear all exchanges, as at the start of a computation."""
        self.complete.clear()
        self.kept.clear()
        self.assumed |= self.refuted
        self.refuted.clear()

    def agree(self, paused: Key | None, communicator: Communicator) -> bool:
        """End a sweep on all ranks; returns whether the computation is complete. `paused` is the pause of its parts."""
        flags = torch.zeros(QUESTIONS)
        flags[sorted(self.refuted)] = 1
        communicator.all_reduce(flags)
        self.refuted = set(flags.nonzero().flatten().tolist())
        if self.refuted:
            self.restart()
            return False
        if paused is not None:
            self.complete.add(paused)
        return paused is None


class FileExchange(Exchange):
    """The exchange of a part whose rows are passed in files of a folder that all processes can access.

    Make a new one for each turn of a part: it counts the exchanges of the computation.

    Args:
        part: The part.
        folder: Folder for the exchanged rows.
        state: State that the turns of a computation share.
    """

    @classmethod
    def in_turn(cls, part: Part, folder: Path, state: TurnState) -> FileExchange:
        """The exchange of a part's next turn."""
        exchange = cls.of_part(part, Communicator())
        assert isinstance(exchange, FileExchange)
        exchange.number, exchange.folder, exchange.state = part.number, folder, state
        exchange.gathers, exchange.questions, exchange.sums = 0, 0, 0
        return exchange

    number: int
    folder: Path
    state: TurnState
    gathers: int
    questions: int
    sums: int

    def any_rank(self, condition: bool) -> bool:
        """Whether a condition holds on any part; assumed to be false until a part finds it true."""
        question, self.questions = self.questions, self.questions + 1
        if question >= QUESTIONS:
            raise TrainingError(f"expected at most {QUESTIONS} calls of any_rank in a step, found more.")
        if condition and question not in self.state.assumed:
            self.state.refuted.add(question)
        return question in self.state.assumed

    def sum_over_ranks(self, *values: Tensor | float) -> list[float]:
        """The sum of each number over all parts, which write them to files."""
        key, self.sums = Key("sums", self.sums), self.sums + 1
        if key not in self.state.complete:
            self.post(key, self.number, torch.tensor([[float(value) for value in values]], dtype=torch.float64))
            raise TurnPause(key)
        numbers = [np.fromfile(self._file(key, part, part)) for part in range(len(self.sends))]
        total: list[float] = np.sum(numbers, 0).tolist()
        return total

    def next_gather(self) -> Exchange:
        """The exchange with the next number."""
        number, self.gathers = self.gathers, self.gathers + 1
        return _NumberedExchange(self, number)

    def _file(self, key: Key, source: int, target: int) -> Path:
        return self.folder / f"{key.kind}-{key.number}-{source}-{target}.bin"

    def post(self, key: Key, target: int, rows: Tensor) -> None:
        """Write rows for a part."""
        if len(rows):
            rows.numpy().tofile(self._file(key, self.number, target))
            self.sent += rows.numel() * rows.element_size() * (target != self.number)

    def collect(self, key: Key, source: int, count: int, like: Tensor) -> Tensor:
        """Rows that a part has written for this one, (count, D)."""
        if not count:
            return like.new_empty(0, like.shape[1])
        array = np.fromfile(self._file(key, source, self.number), like.numpy().dtype)
        return torch.from_numpy(array).view(count, like.shape[1])


class _NumberedExchange(Exchange):
    """One exchange of a computation."""

    def __init__(self, turn: FileExchange, number: int) -> None:
        self.turn, self.number = turn, number

    def gather_forward(self, x: Tensor) -> Tensor:
        turn, key, x = self.turn, Key("rows", self.number), x.detach()
        if key not in turn.state.complete:
            for target, some in enumerate(turn.sent_rows.split(turn.sends)):
                turn.post(key, target, x[some])
            raise TurnPause(key)
        rows = x.new_empty(turn.own + turn.halo, x.shape[1])
        rows[: turn.own] = x
        for source, some in enumerate(rows[turn.own :].split(turn.receives)):
            some.copy_(turn.collect(key, source, len(some), x))
        return rows

    def gather_backward(self, grad: Tensor) -> Tensor:
        if Key("gradients", self.number) not in self.turn.state.complete:
            self._post_gradients(grad)
        return self._sum_gradients(grad[: self.turn.own].clone())

    def product(self, matrix: Tensor, x: Tensor) -> Tensor:
        turn, key = self.turn, Key("products", self.number)
        if (key, turn.number) in turn.state.kept:
            return turn.collect(key, turn.number, turn.own, x)
        product = super().product(matrix, x)
        turn.post(key, turn.number, product)
        turn.state.kept.add((key, turn.number))
        return product

    def product_backward(self, transpose: Tensor, grad: Tensor) -> Tensor:
        turn, key = self.turn, Key("gradients", self.number)
        if key not in turn.state.complete:
            product = multiply(transpose, grad)
            turn.post(key, turn.number, product[: turn.own])
            self._post_gradients(product)
        return self._sum_gradients(turn.collect(key, turn.number, turn.own, grad))

    def _post_gradients(self, grad: Tensor) -> NoReturn:
        turn, key = self.turn, Key("gradients", self.number)
        for target, some in enumerate(grad[turn.own :].split(turn.receives)):
            turn.post(key, target, some)
        raise TurnPause(key)

    def _sum_gradients(self, total: Tensor) -> Tensor:
        """Add the gradients that other parts have written for this one to its own, in place."""
        turn, key = self.turn, Key("gradients", self.number)
        for source, rows in enumerate(turn.sent_rows.split(turn.sends)):
            total.index_add_(0, rows, turn.collect(key, source, len(rows), total))
        return total
