"""Every command that help, README and docs show runs as it is pasted."""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from kappagcn.cli import app

ROOT = Path(__file__).parent.parent
DATA = os.environ.get("KAPPAGCN_DATA")
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
# Hours of work, unless the records are there: what is shown with a folder of its own is tried as far as its settings.
LONG = re.compile(r"reproduce (table1|table2|table3|further|sweep|large|search|links) .*--out(?!.*--(quick|dry-run))")


def leaves(command, path=()):
    """Commands and those below them, in the order in which help shows them."""
    below = getattr(command, "commands", None)
    if below is None:
        return [(path, command)]
    names = command.list_commands(None)
    return [leaf for name in names for leaf in leaves(below[name], (*path, name))]


REAL = ("cora_ml", "citeseer", "pubmed", "airport", "wordnet", "figures degrees", "figures curvatures")


def is_to_run(line):
    """What needs datasets that are not there is not."""
    return bool(DATA or not any(name in line for name in REAL))


def run(line):
    """As the shell would, but for comments."""
    _, *arguments = shlex.split(line, comments=True)
    arguments += ["--dry-run"] if LONG.search(line) else []
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    return result


def test_every_commands_help_has_an_example_that_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path, command in leaves(get_command(app)):
        assert command.epilog, path
        example = command.epilog.split("\n\n")[0].removeprefix("Example: ")
        assert example.startswith(f"kappagcn {' '.join(path)}"), example
        assert example in " ".join(CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).stdout.split())
        if is_to_run(example):
            run(example)


def shown(page):
    """What a page's blocks show, one after the other: a file's name and content, or None and a command."""
    results = []
    for language, name, body in re.findall(
        r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE
    ):
        if name:
            results.append((name, body))
        elif language in ("", "console"):
            lines = [line for line in body.splitlines() if re.match(r"(\.venv/bin/)?kappagcn ", line)]
            results += [(None, line) for line in lines]
    return results


@pytest.mark.parametrize("page", [page for page in PAGES if shown(page)])
def test_every_command_of_a_page_runs_as_pasted(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "records", tmp_path / "records")
    for name, output in shown(page):
        if name:
            (tmp_path / name).write_text(output)
        elif is_to_run(output):
            run(output)


def test_readme_and_guides_show_commands():
    assert {"README.md", "docs/how-to/your-own-graph.md", "docs/how-to/reproduce.md"} <= {p for p in PAGES if shown(p)}


def test_every_command_named_in_passing_exists():
    commands = {" ".join(path) for path, _ in leaves(get_command(app))}
    for page in PAGES:
        for words in re.findall(r"`kappagcn ((?:data )?[a-z]+)", (ROOT / page).read_text()):
            assert words in commands | {"data"}, f"{page}: kappagcn {words}"
