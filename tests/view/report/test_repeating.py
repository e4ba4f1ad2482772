from kappagcn.view.report.repeating import repeating_section
from report_runs import HOSTILE, tree_run


def test_command_call_seed_versions_and_all_settings_are_in_the_page(tmp_path):
    run = tree_run(tmp_path / "tree")
    run.config.update(options={"space": "H2", "random_state": 7}, training={"lr": 0.015}, data="9ef7")
    run.summary.update(command="kappagcn embed karate --space H2", call="GraphEmbedder()", versions={"torch": "2.9"})
    text = repeating_section(run)
    for words in ("kappagcn embed karate --space H2", "GraphEmbedder()", "<dt>seed</dt><dd>7</dd>", "<dd>2.9</dd>"):
        assert words in text
    assert "<th scope='row'>training.lr</th><td>0.015</td>" in text
    assert "9ef7" not in text


def test_nothing_recorded_is_nothing_shown_and_words_are_escaped(tmp_path):
    run = tree_run(tmp_path / "tree")
    assert repeating_section(run) == ""
    run.summary.update(command=HOSTILE)
    assert HOSTILE not in repeating_section(run)
