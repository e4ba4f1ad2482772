"""What a command imports: modules are counted, not seconds."""

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from kappagcn.cli import startup

MOST = {("--help",): 400, ("info", "path"): 2600}
NEVER = {"sklearn", "pandas", "sympy", "matplotlib", "torch._dynamo", "torch_geometric.datasets", "torch_geometric.nn"}
CODE = """
import atexit, runpy, sys
listed, *arguments = sys.argv[1:]
sys.argv = ["kappagcn", *arguments]
def write():
    real = (name for name, module in sys.modules.items() if type(module).__name__ != "DeferredModule")
    open(listed, "w").write(" ".join(real))
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


def test_a_deferred_module_is_imported_when_it_is_asked_for(monkeypatch):
    name = "wave"  # any module of Python that nothing here imports
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(startup, "DEFERRED", (name,))
    startup.defer_imports()
    module = sys.modules[name]
    assert type(module) is startup.DeferredModule
    assert not hasattr(module, "__file__")
    assert module.WAVE_FORMAT_PCM == 1
    assert type(sys.modules[name]) is ModuleType
    startup.defer_imports()
    assert type(sys.modules[name]) is ModuleType, "one that is loaded stays"


def test_a_submodule_loads_its_package(monkeypatch):
    for name in ("wsgiref", "wsgiref.headers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(startup, "DEFERRED", ("wsgiref",))
    startup.defer_imports()
    assert hasattr(import_module("wsgiref.headers"), "Headers")
    assert type(sys.modules["wsgiref"]) is ModuleType


@pytest.mark.parametrize("command", ["embed", "classify", "link"])
def test_commands_that_train_run_in_a_process_with_placeholders(tmp_path, command):
    arguments = [command, "karate", "--epochs", "1", "--out", "run"]
    arguments += ["--set", "no-baselines=true"] if command == "classify" else []
    subprocess.run([sys.executable, "-m", "kappagcn", *arguments], check=True, capture_output=True, cwd=tmp_path)
    assert (tmp_path / "run" / "summary.json").exists()
