import json

from command_runs import run


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


def test_generated_graphs_have_no_file():
    assert run("data", "fetch", "karate").stdout == "karate\tgenerated\n"
    result = run("data", "path", "karate")
    assert result.exit_code == 2
    assert "which is generated" in result.stderr
