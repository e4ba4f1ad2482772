"""`kappagcn link` and `kappagcn predict` of its runs: output, files, wrong input."""

import json

import pytest

from command_runs import message_of, run


@pytest.fixture(scope="module")
def links(tmp_path_factory):
    folder = tmp_path_factory.mktemp("links") / "run"
    result = run("link", "les_miserables", "--space", "H3", "--epochs", "6", "--out", folder)
    assert result.exit_code == 0, result.output
    return folder, result


def test_the_result_stands_beside_simple_scores(links):
    _, result = links
    for words in ("ROC AUC", "95 % interval", "AUC of Adamic–Adar", "AUC of degree product", "result"):
        assert words in result.stdout


def test_predict_names_missing_links_and_scores_pairs(links, tmp_path):
    folder, _ = links
    lines = run("predict", folder, "--top", "3").stdout.splitlines()
    assert lines[0] == "source,target,probability"
    assert len(lines) == 4
    (tmp_path / "pairs.csv").write_text("source,target\nJavert,Cosette\nValjean,Gavroche\n")
    scored = json.loads(run("predict", folder, "--pairs", tmp_path / "pairs.csv", "--json").stdout)["links"]
    assert [(link["source"], link["target"]) for link in scored] == [("Javert", "Cosette"), ("Valjean", "Gavroche")]
    (tmp_path / "loop.csv").write_text("source,target\nJavert,Cosette\nJavert,Javert\n")
    refused = run("predict", folder, "--pairs", tmp_path / "loop.csv")
    assert "expected two different nodes in each pair, found 'Javert' paired with itself" in message_of(refused)
    assert run("predict", folder, "--top", "3", "--out", tmp_path / "out").exit_code == 0
    assert (tmp_path / "out" / "links.csv").read_text().splitlines() == lines


def test_predict_warns_of_a_run_that_says_nothing(tmp_path):
    (tmp_path / "ring.csv").write_text("".join(f"{i},{(i + 1) % 10}\n" for i in range(10)))
    made = run("link", tmp_path / "ring.csv", "--space", "H2", "--epochs", "1", "--out", tmp_path / "run")
    assert "too few test edges" in made.stdout
    assert "hits@10" not in made.stdout, "of one pair it is always 1"
    asked = run("predict", tmp_path / "run", "--top", "1")
    assert "Do not rely on these: too few test edges" in asked.stderr
    assert len(asked.stdout.splitlines()) == 2


def test_json_resume_and_dry_run(links, tmp_path):
    folder, _ = links
    arguments = ("link", "les_miserables", "--space", "H3", "--epochs", "6", "--out", folder)
    again = json.loads(run(*arguments, "--resume", "--json").stdout)
    assert {"roc_auc", "average_precision", "hits@10", "mrr", "intervals", "baselines", "verdict"} <= set(again)
    settings = json.loads(run(*arguments, "--dry-run", "--json").stdout)
    assert settings["inputs"] == "identity"
    (tmp_path / "mine.toml").write_text("epochs = 2\nfolds = 1\n")
    settings = json.loads(run("link", "karate", "--config", tmp_path / "mine.toml", "--dry-run", "--json").stdout)
    assert (settings["epochs"], settings["folds"]) == (2, 1)


def test_a_users_split(tmp_path):
    (tmp_path / "edges.csv").write_text("".join(f"n{i},n{(i + step) % 12}\n" for i in range(12) for step in (1, 2)))
    (tmp_path / "times.csv").write_text(
        "".join(f"n{i},n{(i + step) % 12},{10 * step + i}\n" for i in range(12) for step in (1, 2))
    )
    made = run(
        "link", tmp_path / "edges.csv", "--edge-split", tmp_path / "times.csv", "--epochs", "2", "--out",
        tmp_path / "run", "--json",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["records"][0]["split_name"] == "by time"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("link", "pair.csv"), "edges left to train on"),
        (("link", "edges.csv", "--space", "Q3"), "Q3"),
        (("link", "edges.csv", "--edge-split", "none.csv"), "none.csv"),
        (("link", "edges.csv", "--edge-split", "labels.csv"), "third column"),
        (("link", "edges.csv", "--edge-split", "labels.csv", "--splits", "2"), "expected 1 beside --edge-split"),
        (("link", "edges.csv", "--set", "inputs=both"), "a graph with features for 'both'"),
        (("link", "edges.csv", "--test", "0.99"), "sum to less than 1"),
    ],
)
def test_wrong_input_ends_in_one_line(arguments, message, files, monkeypatch):
    monkeypatch.chdir(files)
    (files / "labels.csv").write_text("a,b\nb,c\n")
    (files / "pair.csv").write_text("a,b\n")
    assert message in message_of(run(*arguments))


def test_wrong_use_of_runs(links, runs, tmp_path):
    folder, _ = links
    (tmp_path / "pairs.csv").write_text("Javert,Nobody\n")
    assert "found 'Nobody'" in message_of(run("predict", folder, "--pairs", tmp_path / "pairs.csv"))
    assert "found both" in message_of(run("predict", folder, "--pairs", tmp_path / "pairs.csv", "--top", "3"))
    assert "found another graph" in message_of(run("predict", folder, "karate"))
    assert "expected a run of kappagcn link" in message_of(run("predict", runs / "classes", "--top", "3"))


def test_the_latest_edges_are_for_test(tmp_path):
    rows = [f"n{i},n{(i * step) % 40},{2000 + i}" for step in (3, 7) for i in range(40)]
    (tmp_path / "g.csv").write_text("source,target,year\n" + "\n".join(rows))
    arguments = ("link", tmp_path / "g.csv", "--space", "H2", "--epochs", "1", "--json", "--split-time")
    result = run(*arguments, "--time", "year", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "by time" in result.stderr
    assert "expected --split-time and --time COLUMN together" in message_of(run(*arguments))
