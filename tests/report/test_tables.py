import numpy as np

from report_runs import HOSTILE, Tags, classified_run, save_run, written


def test_hostile_classes_in_the_confusion_matrix_are_only_text(tmp_path):
    run = classified_run(tmp_path / "papers")
    told = vars(run.embedded) | {"class_names": np.array([HOSTILE, "<i>", "c"])}
    run = save_run(tmp_path / "hostile", type(run.embedded)(**told), run.summary, run.metrics)
    assert not [tag for tag, _ in Tags(written(run, tmp_path)).tags if tag in ("img", "i")]
