"""Pairs of nodes: in tables two nodes per row, by name or number, and perhaps a third column; or in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.edge_table import edge_positions
from kappagcn.graphs.io.tables import Table, node_ids, read_table, usual_ids
from kappagcn.graphs.io.undirected import node_id

__all__ = ["PairList", "as_pairs", "read_pairs"]


class PairList(NamedTuple):
    """Pairs as numbers of nodes, (2, P), their table, and the position of a third column, where there is one."""

    pairs: Tensor
    table: Table
    third: int | None


def read_pairs(path: str | Path, index: dict[str, int], *, header: bool | None = None) -> PairList:
    """Read pairs of nodes.

    Args:
        path: File, with two or three columns.
        index: Number of each node by name, as `kappagcn.graphs.io.undirected.node_index` gives it.
        header: Whether the first line is a heading; None to detect it.

    Raises:
        GraphFileError: A line names a node that the graph does not have, or the first line may be a heading or not.
    """
    table = read_table(path, nodes=2, header=header, known=index, expected="pairs of nodes")
    if table.width not in (2, 3):
        raise GraphFileError(
            f"{table.place(0)}: expected two nodes per line, and perhaps a third column, found {table.width}."
        )
    source, target, *_ = edge_positions(table)
    ends = [usual_ids(node_ids(table, i, "two nodes")).to_pylist() for i in (source, target)]
    wrong = next(((row, n) for row, pair in enumerate(zip(*ends, strict=True)) for n in pair if n not in index), None)
    if wrong is not None:
        raise GraphFileError(
            f"{table.place(wrong[0])}: expected nodes of the graph, such as {next(iter(index))!r}, found {wrong[1]!r}."
        )
    numbers = torch.tensor([[index[name] for name in names] for names in ends])
    return PairList(numbers, table, 3 - source - target if table.width == 3 else None)


def as_pairs(pairs: object, index: dict[str, int], num_nodes: int) -> Tensor:
    """Pairs of nodes of any kind as numbers, (2, P): an array (P, 2) or (2, P) of numbers, or a list of pairs of names.

    An array of two pairs counts as (P, 2), one pair per row. A node paired with itself is refused.

    >>> as_pairs([("b", "a")], {"a": 0, "b": 1}, 2).tolist()
    [[1], [0]]
    """
    if isinstance(pairs, Sequence) and any(isinstance(end, str) for pair in pairs if _is_pair(pair) for end in pair):
        try:
            pairs = [[index[node_id(end)] for end in pair] for pair in pairs]
        except KeyError as unknown:
            raise GraphFileError(f"pairs: expected nodes of the graph, found {unknown}.") from None
    array = torch.as_tensor(pairs)
    if array.dim() == 2 and array.shape[1] == 2:
        array = array.t()
    if array.dim() != 2 or array.shape[0] != 2 or array.is_floating_point() or array.dtype == torch.bool:
        raise GraphFileError(f"pairs: expected pairs of nodes, (P, 2), found {array.dtype} {tuple(array.shape)}.")
    if array.numel() and not 0 <= int(array.min()) <= int(array.max()) < num_nodes:
        raise GraphFileError(
            f"pairs: expected nodes from 0 to {num_nodes - 1}, found {int(array.min())} to {int(array.max())}."
        )
    if loops := array[0, array[0] == array[1]].tolist():
        raise GraphFileError(
            f"pairs: expected two different nodes in each pair, found node {loops[0]} paired with itself."
        )
    return array.to(torch.int64).contiguous()


def _is_pair(pair: object) -> bool:
    return isinstance(pair, Sequence) and not isinstance(pair, str)
