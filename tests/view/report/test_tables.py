import numpy as np

from kappagcn.view.report.tables import baselines_table, how_to_repeat
from report_runs import HOSTILE, Tags, classified_run, save_run, tree_run, written


def test_hostile_classes_in_the_confusion_matrix_are_only_text(tmp_path):
    run = classified_run(tmp_path / "papers")
    arrays = vars(run.embedded) | {"class_names": np.array([HOSTILE, "<i>", "c"])}
    run = save_run(tmp_path / "hostile", type(run.embedded)(**arrays), run.summary, run.metrics)
    assert not [tag for tag, _ in Tags(written(run, tmp_path)).tags if tag in ("img", "i")]


def test_baselines_stand_beside_the_run_with_the_best_in_bold(tmp_path):
    run = classified_run(tmp_path / "papers")
    assert baselines_table(run) is None
    run.summary["baselines"] = {
        "majority": {"accuracy": 0.3, "macro_f1": 0.1},
        "gcn": {"accuracy": 0.8, "macro_f1": 0.75},
    }
    run.summary["verdict"] = "Better than the most common class; level with a GCN."
    page = written(run, tmp_path)
    assert page.count("<b>80.0 %</b>") == 2  # this run and the GCN
    assert page.count("<b>75.0 %</b>") == 1
    assert page.count("level with a GCN.") == 2  # in the lead and at the table
    assert "{&#39;" not in page


def test_command_call_seed_versions_and_all_settings_are_in_the_page(tmp_path):
    run = tree_run(tmp_path / "tree")
    assert how_to_repeat(run) is None
    assert 'id="repeat"' not in written(run, tmp_path)
    run.config.update(options={"space": "H2", "random_state": 7}, training={"lr": 0.015}, data="9ef7")
    run.summary.update(command=f"kappagcn embed {HOSTILE}", call="GraphEmbedder()", versions={"torch": "2.9"})
    text = written(run, tmp_path)
    for words in ("kappagcn embed &lt;/script", "GraphEmbedder()", "<dt>seed</dt><dd>7</dd>", "<dd>2.9</dd>"):
        assert words in text
    assert '<th scope="row">training.lr</th><td>0.015</td>' in text
    assert HOSTILE not in text
    assert "9ef7" not in text
