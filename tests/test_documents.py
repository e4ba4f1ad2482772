"""README and docs say what is so: their code runs and prints what they show, their commands and links exist."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = [str(path.relative_to(ROOT)) for path in PAGES if "```python" in path.read_text()]


def alike(printed, written):
    """The same words, and numbers with decimals that differ by a tenth, or by one in their last digit."""
    number = r"-?\d+\.\d+"
    if re.sub(number, "number", printed) != re.sub(number, "number", written):
        return False
    pairs = zip(re.findall(number, printed), re.findall(number, written), strict=True)
    return all(
        abs(float(a) - float(b)) <= max(0.1 * abs(float(b)), 1.01 * 0.1 ** len(b.split(".")[1])) for a, b in pairs
    )


def test_numbers_that_differ_much_are_not_alike():
    assert alike("H5: distortion 0.0050, accuracy 0.9", "H5: distortion 0.0049, accuracy 0.8")
    assert not alike("H5: distortion 0.0050", "E5: distortion 0.0050")
    assert not alike("κ = -2.1", "κ = 2.1")
    assert not alike("distortion 0.083", "distortion 0.073")
    assert not alike("(1000, 2)", "(1001, 2)")


@pytest.mark.parametrize("name", PYTHON)
def test_python_in_documents_runs_and_prints_what_it_says(name, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), {})
        printed, written = capsys.readouterr().out.splitlines(), re.findall(r"# → (.*)", block)
        assert len(printed) == len(written)
        assert all(map(alike, printed, written)), printed


def test_the_readmes_commands_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        t
        for text in (README, (ROOT / "CONTRIBUTING.md").read_text())
        for t in re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)
    }
    assert {"demo", "test"} <= named <= targets


def test_the_readmes_links_lead_somewhere():
    paths = [link or image for link, image in re.findall(r"\]\(([^)#]+)\)|<img src=\"([^\"]+)\"", README)]
    assert len(paths) > 20
    assert [path for path in paths if not (path.startswith("http") or (ROOT / path).exists())] == []


def test_benchmark_programs_can_be_imported():
    """What they take from the package is there."""
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        importlib.import_module(path.stem)
