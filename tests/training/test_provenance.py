import subprocess

import torch

from kappagcn import GraphEmbedder, KappaGCNClassifier
from kappagcn.training import provenance as module
from kappagcn.training.provenance import commit, provenance


def test_the_call_repeats_the_settings():
    about = provenance(KappaGCNClassifier("H4", epochs=7))
    assert about["call"] == "KappaGCNClassifier(space='H4', epochs=7).fit(graph)"
    assert about["versions"]["torch"] == torch.__version__
    assert eval(provenance(GraphEmbedder("S2"))["call"].removesuffix(".fit(graph)")).space == "S2"


def test_the_commit_is_that_of_the_package_and_says_whether_its_code_was_changed(tmp_path, monkeypatch):
    def git(*arguments):
        names = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        return subprocess.run(["git", "-C", tmp_path, *names, *arguments], check=True, capture_output=True, text=True)

    def now(*sources):
        commit.cache_clear()
        return commit(*sources)

    package, results = tmp_path / "package", tmp_path / "results"
    for folder in (package, results):
        folder.mkdir()
        (folder / "__init__.py").touch()
    monkeypatch.setattr(module, "PACKAGE", package)
    assert now() is None, "no repository"
    git("init")
    assert now() is None, "the repository of another project"
    git("add", ".")
    git("commit", "--message", "first")
    head = git("rev-parse", "HEAD").stdout.strip()
    assert now() == head
    (results / "new.jsonl").touch()
    assert now() == head
    assert now(results) == f"{head}-dirty"
    (package / "new.py").touch()
    assert now() == f"{head}-dirty"
    commit.cache_clear()
