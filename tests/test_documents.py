"""README and docs say what is so: their code runs, their commands exist, their numbers are the records'."""

import re
from pathlib import Path

import pytest

import accuracy
import geometry as speed
import record

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_readmes_python_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out.split()
    expected = re.findall(r"# → (.*)", "\n".join(blocks))
    assert expected
    for line in expected:
        assert line in " ".join(printed)


def test_the_readmes_commands_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        t for text in (README, (ROOT / "CONTRIBUTING.md").read_text()) for t in re.findall(r"`?make ([a-z]+)", text)
    }
    assert {"demo", "test"} <= named <= targets


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)|<img src=\"([^\"]+)\"", README))
def test_the_readmes_links_lead_somewhere(target):
    path = next(filter(None, target))
    assert path.startswith("http") or (ROOT / path).exists()


@pytest.mark.parametrize(
    ("name", "module", "page"), [("accuracy", accuracy, "accuracy.md"), ("geometry", speed, "speed.md")]
)
def test_pages_are_made_from_their_records(name, module, page):
    assert (ROOT / "docs" / page).read_text() == module.page(record.load(name))


def test_the_accuracy_record_meets_the_targets():
    found = record.load("accuracy")
    assert found["count"] >= 1000
    assert {(r["case"], r["dtype"], r["kappa"]) for r in found["results"]} == {
        (case, str(dtype).removeprefix("torch."), kappa)
        for case in accuracy.CASES
        for dtype in accuracy.TARGETS
        for kappa in accuracy.KAPPAS
    }
    for r in found["results"]:
        value, slope = accuracy.TARGETS[getattr(accuracy.torch, r["dtype"])]
        assert r["kappagcn"]["value"] <= value
        assert r["kappagcn"]["slope"] <= slope


def test_numbers_in_the_readme_are_in_the_records():
    rows = {(r["case"], r["kappa"]): r for r in record.load("geometry")["results"]}
    cells = re.findall(r"^\| `(\w+)` .*\| ([\d.]+) \| ([\d.]+) \|$", README, re.MULTILINE)
    assert len(cells) >= 4
    for case, negative, positive in cells:
        assert negative == f"{rows[case, -1.0]['ratio']:.1f}"
        assert positive == f"{rows[case, 1.0]['ratio']:.1f}"
    results = record.load("accuracy")["results"]
    for case, *found in re.findall(
        r"^\| `(\w+)`, float32 \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", README, re.MULTILINE
    ):
        mine = [r for r in results if r["case"] == case and r["dtype"] == "float32"]
        expected = [accuracy.worst(mine, s, w) for s in ("kappagcn", "geoopt") for w in ("value", "slope")]
        assert found == [f"{e:.1e}" for e in expected]
