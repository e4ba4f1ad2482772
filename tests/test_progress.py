"""Progress lines."""

import re
import sys

import pytest

from kappagcn.progress import bar, reporting


@pytest.mark.parametrize("is_terminal", [False, True])
def test_progress_of_training(capsys, monkeypatch, is_terminal):
    monkeypatch.setattr("kappagcn.progress.LINE_SECONDS", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with reporting("disease", 1500) as report, bar("paths", 3) as advance:
        report({"epoch": 300, "train_loss": 0.5, "stopping_accuracy": 0.75})
        report({"epoch": 301, "train_loss": 0.4})
        report({"epoch": 1200, "distortion": 0.0123, "curvatures": [-1.25, 0.0, 2, 3, 4]})
        advance(3)
    lines = capsys.readouterr().err.splitlines()
    if is_terminal:
        return
    first, _, last = lines
    assert re.fullmatch(r"disease: epoch 300 of at most 1,500, loss 0.5000, accuracy 0.750, \d+ epochs/s", first)
    assert re.search(
        r"epoch 1,200 of at most 1,500, distortion 0.01230, κ −1.25, 2, 3, …, \d+ epochs/s, \d+ s left", last
    )
