import json

from command_runs import message_of, run
from kappagcn.errors import DownloadError


def test_data_list_and_path(tmp_path, monkeypatch):
    rows = {row["name"]: row for row in json.loads(run("data", "list", "--json").stdout)}
    assert rows["tree"]["where"] == "generated"
    assert "7 classes" in rows["cora_ml"]["what"]
    assert "cora_ml" in run("data", "list").stdout
    assert run("data", "path").stdout.strip().endswith("kappagcn")
    (tmp_path / "cora_ml.npz").write_bytes(b"")
    monkeypatch.setenv("KAPPAGCN_DATA", str(tmp_path))
    assert run("data", "path", "cora_ml").stdout.strip() == str(tmp_path / "cora_ml.npz")
    result = run("info", "cora_ml")
    assert result.exit_code == 2
    assert "expected sha256" in result.stderr


def test_a_missing_dataset_names_the_option_and_the_variable(tmp_path, monkeypatch):
    def failing(*_, **__):
        raise DownloadError("no network")

    monkeypatch.delenv("KAPPAGCN_DATA", raising=False)
    monkeypatch.setattr("kappagcn.graphs.datasets.graph_dataset.fetch", failing)
    monkeypatch.setattr("kappagcn.graphs.datasets.graph_dataset.cache_folder", lambda: tmp_path)
    assert "a folder named by --data or KAPPAGCN_DATA" in message_of(run("info", "cora_ml"), 1)


def test_generated_graphs_have_no_file():
    assert run("data", "fetch", "karate").stdout == "karate\tgenerated\n"
    result = run("data", "path", "karate")
    assert result.exit_code == 2
    assert "which is generated" in result.stderr


def test_convert_to_and_from_other_formats(tmp_path):
    result = run("data", "convert", "karate", "--out", tmp_path / "club.csv.gz")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(tmp_path / "club.csv.gz")
    assert f"labels: {tmp_path / 'club.labels.csv'}" in result.stderr.replace("\n", "")
    again = run("data", "convert", tmp_path / "club.csv.gz", "--out", tmp_path / "club.npz")
    assert again.exit_code == 0, again.output
    assert "34 nodes, 78 edges" in again.stderr


def test_wrong_conversions_end_in_one_line(tmp_path):
    (tmp_path / "bad.mtx").write_text("nonsense\n")
    assert "expected a Matrix Market file" in message_of(
        run("data", "convert", tmp_path / "bad.mtx", "--out", tmp_path / "a.csv")
    )
    assert "expected a file ending in" in message_of(run("data", "convert", "path", "--out", tmp_path / "a.xlsx"))
    assert not (tmp_path / "a.xlsx").exists()


def test_partition_and_classify(tmp_path):
    """A graph is cut into parts, and a classifier trains on them; wrong use ends in one line."""
    parts = tmp_path / "parts"
    result = run("data", "partition", "disease", "--parts", 2, "--out", parts)
    assert result.exit_code == 0, result.output
    assert "of the edges lie between parts" in result.stderr
    assert {path.name for path in parts.iterdir()} == {"partition.json", "part-0", "part-1"}
    as_json = json.loads(run("data", "partition", "karate", "--parts", 2, "--out", tmp_path / "k", "--json").stdout)
    assert as_json["nodes"] == 34
    result = run("classify", parts, "--space", "H4", "--epochs", 2, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["test_nodes"] == 200
    assert "2 parts, 1 processes" in run("classify", parts, "--epochs", 1, "--out", tmp_path / "other").stdout
    assert "expected one run" in message_of(run("classify", parts, "--splits", 2, "--out", tmp_path / "x"))
    assert "expected features" in message_of(run("classify", tmp_path / "k", "--out", tmp_path / "x"))
    assert "expected a new or empty folder" in message_of(
        run("data", "partition", "karate", "--parts", 2, "--out", parts)
    )
