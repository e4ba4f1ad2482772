"""Commands run in this process, and their messages."""

from typer.testing import CliRunner

from kappagcn.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def message_of(result, code=2):
    """The one line; whatever was said of a graph before it aside."""
    lines = [line for line in result.stderr.strip().splitlines() if line.startswith("kappagcn: ")]
    assert result.exit_code == code, result.output
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return lines[0]


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
