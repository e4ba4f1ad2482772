"""Progress lines."""

import re

from kappagcn.progress import reporting


def test_lines_of_progress_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr("kappagcn.progress.LINE_SECONDS", -1.0)
    with reporting("disease", 50) as report:
        report({"epoch": 3, "train_loss": 0.5, "stopping_accuracy": 0.75})
        report({"epoch": 4, "train_loss": 0.4})
        report({"epoch": 1200, "distortion": 0.0123, "curvatures": [-1.25, 0.0, 2, 3, 4]})
    first, second, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"disease: epoch 3 of at most 50, loss 0.5000, accuracy 0.750, \d+ epochs/s, unknown time left", first
    )
    assert " s left" in second
    assert "epoch 1,200 of at most 50, distortion 0.01230, κ −1.25, 2, 3, …, " in last
