"""What a command imports: modules are counted, not seconds."""

import subprocess
import sys

import pytest

MOST = {("--help",): 400, ("info", "path"): 2600}
NEVER = {"sklearn", "pandas", "sympy", "matplotlib", "torch._dynamo", "torch_geometric.datasets", "torch_geometric.nn"}
CODE = """
import atexit, runpy, sys
listed, *arguments = sys.argv[1:]
sys.argv = ["kappagcn", *arguments]
def write():
    loaded = (name for name, module in sys.modules.items() if type(module).__name__ != "_LazyModule")
    open(listed, "w").write(" ".join(loaded))
atexit.register(write)
runpy.run_module("kappagcn", run_name="__main__")
"""


@pytest.mark.parametrize("arguments", MOST, ids=lambda arguments: arguments[0])
def test_a_command_imports_little(tmp_path, arguments):
    listed = tmp_path / "modules"
    command = [sys.executable, "-c", CODE, str(listed), *arguments]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    modules = set(listed.read_text().split())
    assert "kappagcn.cli" in modules
    assert len(modules) < MOST[arguments]
    assert not modules & NEVER
    assert ("torch" in modules) == (arguments[0] != "--help")


def test_commands_that_train_load_deferred_modules(tmp_path):
    for command in ("classify", "link"):
        listed = tmp_path / f"{command}.txt"
        arguments = [command, "karate", "--epochs", "1", "--out", command]
        python = [sys.executable, "-c", CODE, str(listed)]
        subprocess.run([*python, *arguments], check=True, capture_output=True, cwd=tmp_path)
        assert {"numba", "torch_geometric.nn"} <= set(listed.read_text().split())
        assert (tmp_path / command / "summary.json").exists()
