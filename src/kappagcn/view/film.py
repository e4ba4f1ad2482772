"""Positions of an embedding in some epochs of its training, kept in the run folder for animations."""

from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from kappagcn.errors import CheckpointError
from kappagcn.io_atomic import save_arrays
from kappagcn.run_folder import DAMAGE, Array, SavedRun, writing

FILE = "film.npz"


@dataclass(frozen=True)
class Film:
    """T epochs of an embedding of N nodes in F factors of D dimensions in all."""

    epochs: Array  # (T,)
    values: Array  # value of the objective, NaN if unknown, (T,)
    curvatures: Array  # (T, F)
    tangent: Array  # tangent vectors at the origin, (T, N, D)
    scale: Array = field(default_factory=lambda: np.array(1.0))  # of these lengths to those in training

    def __post_init__(self) -> None:
        count = len(self.epochs)
        shapes = self.values.shape == (count,) and self.curvatures.ndim == 2 and self.tangent.ndim == 3
        if not (shapes and len(self.curvatures) == len(self.tangent) == count > 0):
            raise ValueError("frames of different numbers")
        if not (np.isfinite(self.tangent).all() and np.isfinite(self.curvatures).all()):
            raise ValueError("frames that are not finite")

    def every(self, step: int) -> "Film":
        """Every n-th frame, and the last."""
        kept = np.unique(np.append(np.arange(0, len(self.epochs), step), len(self.epochs) - 1))
        return Film(self.epochs[kept], self.values[kept], self.curvatures[kept], self.tangent[kept], self.scale)


def save_film(folder: Path, film: Film) -> None:
    """Write a film into a run folder."""
    with writing(folder / FILE) as file:
        save_arrays(file, **vars(film))


def read_film(run: SavedRun) -> Film | None:
    """The film of a run that fits its embedding; None where there is none.

    Raises:
        CheckpointError: The file is damaged.
    """
    path = run.path / FILE
    if not path.is_file():
        return None
    try:
        with path.open("rb") as whole, np.load(whole, allow_pickle=False) as file:
            film = Film(**{each.name: file[each.name] for each in fields(Film) if each.name in file})
    except (*DAMAGE, TypeError) as problem:
        raise CheckpointError(f"{path}: expected positions along training, found {problem}.") from None
    embedded = run.embedded
    same = film.tangent.shape[1:] == embedded.tangent.shape and film.curvatures.shape[1] == len(embedded.dims)
    return film if same and len(film.epochs) > 1 else None  # nodes that were added later have no frames
