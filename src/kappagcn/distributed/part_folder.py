"""A part of a graph as a folder: its nodes, its rows of the adjacency, its halo, features, labels and roles.

| file | content, for M own nodes and H nodes of other parts (the halo) |
|---|---|
| ``part.json`` | form, numbers of parts, nodes and rows to exchange, statistics of the whole graph, hash of each file |
| ``nodes.npy`` | numbers of the own nodes in the graph, ascending, (M,) |
| ``indptr.npy``, ``indices.npy`` | own rows of the symmetric adjacency; columns are own nodes, then the halo |
| ``weights.npy`` | weight of each entry, where there are weights |
| ``degrees.npy`` | sum of the weights of each own and halo node's edges, (M + H,) |
| ``halo_nodes.npy``, ``halo_rows.npy`` | numbers of halo nodes in the graph and in their parts, in the order of parts |
| ``sent_rows.npy`` | own rows that other parts need, in the order of parts |
| ``features.npy`` or ``features_{indptr,indices,values}.npy`` | features of the own nodes, dense or CSR |
| ``labels.npy``, ``roles.npy`` | class, −1 for none; sum of 1 train, 2 stopping, 4 validation, 8 test |
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kappagcn.errors import GraphFileError
from kappagcn.sparse.compressed import csr_tensor

__all__ = ["FORM", "Part", "hash_files", "is_partition", "part_path"]

FORM = "kappagcn part 1"
ROLES = {"train": 1, "stopping": 2, "validation": 4, "test": 8}  # bits: stopping nodes may be validation nodes too
REQUIRED = ("nodes", "indptr", "indices", "degrees", "halo_nodes", "halo_rows", "sent_rows", "labels", "roles")
Array = NDArray[Any]


def part_path(folder: Path, number: int) -> Path:
    """The folder of a part."""
    return folder / f"part-{number}"


def is_partition(path: Path) -> bool:
    """Whether a folder has parts of a graph, complete or not."""
    return (path / "partition.json").is_file() or any(path.glob("part-*/part.json"))


def hash_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Size and SHA-256 of each array of a part."""
    files = {}
    for path in sorted(folder.glob("*.npy")):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        files[path.name] = {"bytes": path.stat().st_size, "sha256": digest}
    return files


class Part:
    """An opened part of a graph; arrays are read when they are asked for.

    Args:
        folder: Folder of the partition.
        number: Number of the part.
        verify: Whether to compare the hash of every file, which reads all of them.

    Attributes:
        about: Content of ``part.json``.
        own: Number of own nodes.
        halo: Number of nodes of other parts that own rows need.
    """

    def __init__(self, folder: str | Path, number: int, *, verify: bool = False) -> None:
        self.path, self.number = part_path(Path(folder), number), number
        self.about = _read_about(self.path)
        sizes = {name: about["bytes"] for name, about in self.about["files"].items()}
        for name, size in sizes.items():
            path = self.path / name
            actual = path.stat().st_size if path.is_file() else None
            if actual != size:
                content = "no such file" if actual is None else f"{actual:,}"
                raise GraphFileError(f"{path}: expected {size:,} bytes, found {content}. Partition the graph again.")
        if missing := [name for name in REQUIRED if f"{name}.npy" not in sizes]:
            raise GraphFileError(f"{self.path}: expected {missing[0]}.npy, found none. Partition the graph again.")
        if verify and (bad := [n for n, about in hash_files(self.path).items() if about != self.about["files"][n]]):
            raise GraphFileError(f"{self.path / bad[0]}: expected the content that was written, found other content.")
        self.own, self.halo = int(self.about["own"]), int(self.about["halo"])
        self.receives: list[int] = self.about["receives"]
        self.sends: list[int] = self.about["sends"]

    @property
    def parts(self) -> int:
        """Number of parts of the graph."""
        return int(self.about["parts"])

    def has(self, name: str) -> bool:
        """Whether the part has an array of this name."""
        return f"{name}.npy" in self.about["files"]

    def array(self, name: str) -> Array:
        """An array of the part, read into memory."""
        array: Array = np.load(self.path / f"{name}.npy", allow_pickle=False)
        return array

    def rows_in_role(self, role: str) -> Tensor:
        """Own rows with a role, (R,)."""
        return torch.from_numpy(np.flatnonzero(self.array("roles") & ROLES[role]))

    def features(self) -> Tensor:
        """Features of the own nodes, dense (M, D) or sparse CSR, in single precision."""
        if self.has("features"):
            return torch.from_numpy(self.array("features")).float()
        if not self.has("features_values"):
            raise GraphFileError(
                f"{self.path}: expected features of the nodes, found none. Use --features when partitioning."
            )
        starts, indices, values = (
            torch.from_numpy(self.array(f"features_{n}")) for n in ("indptr", "indices", "values")
        )
        return csr_tensor(starts.long(), indices.long(), values.float(), (self.own, int(self.about["columns"])))


def _read_about(path: Path) -> dict[str, Any]:
    expected = f"{path}: expected a part that kappagcn data partition wrote"
    try:
        about = json.loads((path / "part.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        state = "a folder that was not finished" if path.is_dir() else "no such folder"
        raise GraphFileError(f"{expected}, found {state}. Run the command again, or copy the part here.") from None
    except ValueError as problem:
        raise GraphFileError(f"{expected}, found damage ({problem}). Run the command again.") from None
    if not isinstance(about, dict) or about.get("form") != FORM:
        raise GraphFileError(f"{expected} in the form {FORM!r}, found {str(about)[:60]!r}. Partition the graph again.")
    return about
