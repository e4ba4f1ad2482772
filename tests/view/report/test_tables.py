import numpy as np

from kappagcn.view.report.tables import baselines_table
from report_runs import HOSTILE, Tags, classified_run, save_run, written


def test_hostile_classes_in_the_confusion_matrix_are_only_text(tmp_path):
    run = classified_run(tmp_path / "papers")
    arrays = vars(run.embedded) | {"class_names": np.array([HOSTILE, "<i>", "c"])}
    run = save_run(tmp_path / "hostile", type(run.embedded)(**arrays), run.summary, run.metrics)
    assert not [tag for tag, _ in Tags(written(run, tmp_path)).tags if tag in ("img", "i")]


def test_baselines_stand_beside_the_run_with_the_best_in_bold(tmp_path):
    run = classified_run(tmp_path / "papers")
    assert baselines_table(run) == ""
    run.summary["baselines"] = {
        "majority": {"accuracy": 0.3, "macro_f1": 0.1},
        "gcn": {"accuracy": 0.8, "macro_f1": 0.75},
    }
    run.summary["verdict"] = "Better than the most common class; level with a GCN."
    table = baselines_table(run)
    assert "level with a GCN." in table
    assert table.count("<b>80.0 %</b>") == 2  # this run and the GCN
    assert table.count("<b>75.0 %</b>") == 1
    page = written(run, tmp_path)
    assert page.count("level with a GCN.") == 2  # in the lead and at the table
    assert "{&#x27;" not in page
