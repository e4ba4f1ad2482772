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
    assert "expected SHA-256" in result.stderr


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


def test_parts_are_folders_that_every_command_opens(tmp_path):
    parts = tmp_path / "parts"
    result = run("data", "convert", "disease", "--parts", 2, "--out", parts)
    assert result.exit_code == 0, result.output
    assert "2 parts, " in result.stderr
    offsets = json.loads((parts / "graph.json").read_text())["parts"]
    assert (offsets[0], offsets[-1], len(offsets)) == (0, 1000, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"], "no temporary folder is left"
    result = run("classify", parts, "--space", "H4", "--epochs", 2, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.output
    again = run("data", "convert", parts, "--parts", 3, "--out", tmp_path / "three")
    assert again.exit_code == 0, again.output
    assert "expected a folder as --out" in message_of(
        run("data", "convert", "karate", "--parts", 2, "--out", tmp_path / "karate.csv")
    )
    assert "expected a new or empty folder" in message_of(
        run("data", "convert", "karate", "--parts", 2, "--out", parts)
    )


def test_a_large_table_is_streamed(tmp_path, monkeypatch):
    monkeypatch.setattr("kappagcn.graphs.io.convert.STREAMED", 1)
    table = tmp_path / "friends.csv"
    table.write_text("source,target\nann,bob\nbob,cem\n")
    result = run("data", "convert", table, "--out", tmp_path / "folder")
    assert result.exit_code == 0, result.output
    assert "3 nodes, 2 edges" in result.stderr
    assert "3 nodes, 2 edges" in run("info", tmp_path / "folder").output
    table_of_labels = tmp_path / "labels.csv"
    table_of_labels.write_text("node,label\nann,x\n")
    assert "expected features and labels as .npy files" in message_of(
        run("data", "convert", table, "--out", tmp_path / "other", "--labels", table_of_labels)
    )
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'kappagcn[large]'" in message_of(run("data", "convert", table, "--out", tmp_path / "third"))
