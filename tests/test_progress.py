"""Progress lines."""

from kappagcn.training import (
    reporting,
)


def test_lines_of_progress_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr("kappagcn.progress.LINE_SECONDS", -1.0)
    with reporting("disease", 50) as report:
        report({"epoch": 3, "train_loss": 0.5, "stopping_accuracy": 0.75})
    assert capsys.readouterr().err == "disease: epoch 3 of at most 50, loss 0.5000, accuracy 0.750\n"
