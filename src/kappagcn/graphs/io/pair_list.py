"""Pairs of nodes in delimited text files: two nodes per line, by name or number, and perhaps a third column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.delimited import DelimitedFile, Kind
from kappagcn.graphs.io.edge_list import SOURCES, TARGETS

__all__ = ["PairList", "as_pairs", "read_pairs"]


class PairList(NamedTuple):
    """Pairs as numbers of nodes, (2, P), and the heading and texts of a third column, where there is one."""

    pairs: Tensor
    heading: str | None
    texts: list[str] | None


def read_pairs(path: str | Path, index: dict[str, int]) -> PairList:
    """Read pairs of nodes; a first line whose two words are not nodes is a heading.

    Args:
        path: File, with two or three columns.
        index: Number of each node by name, as `kappagcn.graphs.io.undirected.node_index` gives it.

    Raises:
        GraphFileError: A line names a node that the graph does not have.
    """
    file = DelimitedFile(path)
    if not file.head:
        raise GraphFileError(f"{path}: expected pairs of nodes, one per line, found none.")
    number, cells = file.head[0]
    cells = [cell.strip() for cell in cells]
    if len(cells) not in (2, 3):
        raise GraphFileError(
            f"{path}, line {number}: expected two nodes per line, and perhaps a third column, found {len(cells)}."
        )
    lowered = {cell.lower() for cell in cells}
    heading = bool(lowered & SOURCES and lowered & TARGETS) or not any(cell in index for cell in cells[:2])
    heading = heading and len(file.head) > 1
    kinds: dict[int, Kind] = {0: "name", 1: "name", **({2: "text"} if len(cells) == 3 else {})}
    words: dict[Kind, str] = {"name": "two nodes", "text": "text"}
    first, second, *third = (column.to_pylist() for column in file.columns(kinds, heading=heading, words=words))
    unknown = next((name for pair in zip(first, second, strict=True) for name in pair if name not in index), None)
    if unknown is not None:
        raise GraphFileError(f"{path}: expected nodes of the graph, such as {next(iter(index))!r}, found {unknown!r}.")
    numbers = torch.tensor([[index[name] for name in first], [index[name] for name in second]])
    texts = third[0] if third else None
    return PairList(numbers, cells[2].lower() if heading and texts is not None else None, texts)


def as_pairs(pairs: object, index: dict[str, int], num_nodes: int) -> Tensor:
    """Pairs of nodes of any kind as numbers, (2, P): an array (P, 2) or (2, P) of numbers, or a list of pairs of names.

    An array of two pairs counts as (P, 2), one pair per row. A node paired with itself is refused.

    >>> as_pairs([("b", "a")], {"a": 0, "b": 1}, 2).tolist()
    [[1], [0]]
    """
    if isinstance(pairs, Sequence) and any(isinstance(end, str) for pair in pairs if _is_pair(pair) for end in pair):
        try:
            pairs = [[index[str(end)] for end in pair] for pair in pairs]
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
