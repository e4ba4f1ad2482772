"""What a command imports: modules are counted, not seconds."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

import pytest

from kappagcn.cli import startup

MOST = {("--help",): 400, ("info", "path"): 1800, ("embed", "path", "--epochs", "1"): 2800}
NEVER = {"sklearn", "pandas", "sympy", "matplotlib", "torch._dynamo", "torch_geometric.datasets"}
NEVER |= {"networkx", "pyarrow", "scipy.stats", "scipy.spatial"}
NEVER_BY = {"info": {"numba", "torch._meta_registrations", "torch_geometric.nn", "jinja2", "kappagcn.nn"}}
OTHER = [name for name, tried in startup.TRIED.items() if not version(name).startswith(tried)]
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


def imported_by(tmp_path, *arguments):
    listed = tmp_path / "modules"
    command = [sys.executable, "-c", CODE, str(listed), *arguments]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    return set(listed.read_text().split())


@pytest.mark.skipif(bool(OTHER), reason=f"placeholders were not tested with this version of {', '.join(OTHER)}")
@pytest.mark.parametrize("arguments", MOST, ids=lambda arguments: arguments[0])
def test_a_command_imports_little(tmp_path, arguments):
    modules = imported_by(tmp_path, *arguments)
    assert "kappagcn.cli" in modules
    assert len(modules) < MOST[arguments]
    assert not modules & (NEVER | NEVER_BY.get(arguments[0], set()))
    assert ("torch" in modules) == (arguments[0] != "--help")


def test_only_info_without_trials_trains_nothing():
    assert not startup.trains(["info", "karate", "--json"])
    assert startup.trains(["info", "karate", "--try"])
    assert startup.trains(["embed", "info"])
    assert startup.trains([])


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


@pytest.mark.parametrize(("tried", "waits"), [("", True), ("0.0.", False)])
def test_only_versions_that_were_tried_are_imported_in_parts(monkeypatch, tried, waits):
    name = "hypothesis.provisional"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(startup, "DEFERRED", (name, "not_installed"))
    monkeypatch.setattr(startup, "TRIED", {"hypothesis": tried})
    startup.defer_imports()
    assert (type(sys.modules.pop(name, None)) is startup.DeferredModule) == waits
    assert "not_installed" not in sys.modules


def test_nothing_is_kept_from_a_compiler_that_is_not_there():
    def function():
        return 1

    assert startup._unchanged(function, True, wrapping=False) is function
    assert startup._unchanged(recursive=False)(function) is function


@pytest.mark.parametrize(
    "arguments",
    [("classify", "karate", "--epochs", "1", "--set", "no-baselines=true"), ("link", "karate", "--epochs", "1")],
    ids=lambda arguments: arguments[0],
)
def test_commands_that_use_more_of_torch_run_in_a_process_of_their_own(tmp_path, arguments):
    imported_by(tmp_path, *arguments, "--out", "run")
    assert (tmp_path / "run" / "summary.json").exists()
