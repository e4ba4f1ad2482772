"""Records positions during training, more densely at its start, where they change more."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kappagcn.embedding.run import curvature_values
from kappagcn.objectives import METRICS
from kappagcn.run_folder import SavedRun
from kappagcn.training.run import TrainingResult
from kappagcn.view.film import Film, read_film, save_film

MOST_NUMBERS = 600_000  # numbers in all frames of a run of usual length
DOUBLINGS = 8
MOST_FRAMES, FEWEST_FRAMES = 16, 3  # frames in each doubling of the epochs
RAW = "film.part.f32"  # file of the frames so far, which a resumed run continues


def frames_per_doubling(numbers: int) -> int:
    """Number of frames in each doubling of the epochs, for frames of this size; 0 if they are too large.

    >>> frames_per_doubling(34 * 2), frames_per_doubling(1365 * 10), frames_per_doubling(10**6)
    (16, 5, 0)
    """
    frames = min(MOST_FRAMES, MOST_NUMBERS // (DOUBLINGS * max(numbers, 1)))
    return frames if frames >= FEWEST_FRAMES else 0


class FilmRecorder:
    """A callback of training that appends frames to a file; a resumed run continues the file.

    Args:
        points: Trained module that returns tangent vectors and has a `manifold`.
        folder: Folder of the file, which need not exist yet.
    """

    def __init__(self, points: Any, folder: Path) -> None:
        self.points, self.folder = points, folder
        with torch.no_grad():
            self.size = points().numel()
        self.frames = frames_per_doubling(self.size)
        self.first = [self._row(0, float("nan"))] if self.frames else []
        self.started = False

    def move_to(self, folder: Path) -> None:
        """Continue the film in another folder; the file so far is copied there."""
        if (self.folder / RAW).exists():
            shutil.copyfile(self.folder / RAW, folder / RAW)
        self.folder = folder

    def __call__(self, record: dict[str, Any]) -> None:
        """Record the positions after an epoch if the film has a frame for it."""
        epoch = int(record["epoch"])
        if not self.frames:
            return
        if not self.started:
            self._start(epoch)
        stride = 2 ** max(0, (epoch // self.frames).bit_length() - 1)
        if epoch % stride == 0:
            value = next((record[name] for name in METRICS.values() if name in record), float("nan"))
            with (self.folder / RAW).open("ab") as file:
                file.write(self._row(epoch, value).tobytes())

    def _start(self, epoch: int) -> None:
        """Write the frames before this epoch: those of an interrupted run, or the start."""
        rows = [row for row in self._read() if row[0] < epoch] if epoch > 1 else self.first
        (self.folder / RAW).write_bytes(b"".join(row.tobytes() for row in rows))
        self.started = True

    @torch.no_grad()
    def _row(self, epoch: int, value: float) -> NDArray[Any]:
        numbers = [epoch, value, *curvature_values(self.points.manifold)]
        return np.concatenate([numbers, self.points().detach().cpu().double().numpy().ravel()]).astype(np.float32)

    def _read(self) -> NDArray[Any]:
        """Frames in the folder, without one that was written incompletely; of a finished run those of its film."""
        width = 2 + len(curvature_values(self.points.manifold)) + self.size
        path = self.folder / RAW
        if not path.is_file():
            return self._read_finished(width)
        content = np.fromfile(path, np.float32)
        return np.asarray(content[: len(content) // width * width].reshape(-1, width))

    def _read_finished(self, width: int) -> NDArray[Any]:
        """Frames of the film of a finished run, in the unit of length of training."""
        film = read_film(SavedRun(self.folder)) if (self.folder / "summary.json").is_file() else None
        if film is None:
            return np.zeros((0, width), np.float32)
        tangent = (film.tangent / film.scale).reshape(len(film.epochs), -1)
        columns = (film.epochs[:, None], film.values[:, None], film.curvatures * film.scale**2, tangent)
        return np.concatenate(columns, axis=1).astype(np.float32)

    def finish(self, folder: Path, tangent: NDArray[Any], curvatures: list[float], result: TrainingResult) -> None:
        """Write the film to a run folder in the result's unit of length; its last frame is the result.

        The file of frames is removed, unless the run was interrupted and can continue it.
        """
        best_epoch = result.best_epoch
        if self.frames and not self.started:  # no epoch was left to train
            self._start(result.epochs + 1)
        rows = self._read() if self.frames else np.zeros((0, 1))
        rows = rows[rows[:, 0] <= best_epoch].astype(np.float64)
        if not len(rows):
            return
        value, rows = rows[-1, 1], rows[rows[:, 0] < best_epoch]
        # Edges have mean length 1 in training, or there is no unit of length: scale frames as the result was scaled.
        factors = len(curvatures)
        with torch.no_grad():
            scale = float(np.linalg.norm(tangent)) / max(float(self.points().norm()), 1e-30)
        frames = (scale * rows[:, 2 + factors :]).reshape(len(rows), *tangent.shape)
        film = Film(
            epochs=np.append(rows[:, 0], best_epoch).astype(np.int64),
            values=np.append(rows[:, 1], value).astype(np.float32),
            curvatures=np.vstack([rows[:, 2 : 2 + factors] / scale**2, curvatures]),
            tangent=np.concatenate([frames, tangent[None]]).astype(np.float32),
            scale=np.array(scale),
        )
        save_film(folder, film)
        if result.stopped_by != "interrupted":
            (self.folder / RAW).unlink(missing_ok=True)
