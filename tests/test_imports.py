"""Which package may import which, and what importing costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kappagcn

PACKAGE = Path(kappagcn.__file__).parent
# Layers of the code, lowest first: a package may import those of lower layers, and errors. NARROWER names those that
# may import less, ONLY_FROM those that few may import.
LAYERS = [
    {"errors", "_version", "objectives", "tracing"},
    {"io_atomic", "progress", "geometry", "sparse"},
    {"graphs", "kernels", "distributed", "run_folder", "optim"},
    {"nn"},
    {"models", "view"},
    {"training"},
    {"embedding", "classification", "links"},
    {"estimators"},
    {"paper", "demo"},
    {"cli"},
    {"__main__"},
]
NARROWER = {
    "geometry": set(),
    "optim": {"geometry"},
    "sparse": {"tracing"},
    "tracing": set(),
    "io_atomic": set(),
    "objectives": set(),
    "progress": {"objectives"},
    "graphs": {"io_atomic", "progress"},
    "kernels": {"geometry", "objectives", "sparse", "tracing"},
    "distributed": {"sparse"},
    "run_folder": {"io_atomic"},
    "nn": {"geometry", "graphs", "sparse", "kernels", "tracing"},
    "models": {"geometry", "graphs", "sparse", "nn", "tracing"},
    "view": {"geometry", "run_folder", "io_atomic"},
    "testing": {"geometry"},
    "__main__": {"cli", "estimators"},
    "__init__": {
        "_version",
        "geometry",
        "graphs",
        "optim",
        "nn",
        "models",
        "training",
        "estimators",
        "embedding",
        "classification",
        "links",
    },
}
ONLY_FROM = {
    "paper": {"cli"},
    "view": {"embedding", "paper", "demo", "cli"},
    "estimators": {"paper", "demo", "cli", "__main__", "__init__"},
}


def allowed(package):
    """Packages that one may import."""
    level = next((i for i, layer in enumerate(LAYERS) if package in layer), 0)
    lower = NARROWER.get(package, set().union(*LAYERS[:level]))
    return {name for name in lower if package in ONLY_FROM.get(name, {package})} | {package, "errors"}


def package_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_packages(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"expected absolute imports, found a relative one in {path}"
            names = [node.module] if node.module != "kappagcn" else [f"kappagcn.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("kappagcn."))


def test_packages_import_only_what_is_below_them():
    names_of_users = PACKAGE / "training" / "__init__.py"  # gives names of tasks on first use, and imports nothing
    arrows = {
        (package_of(path), imported)
        for path in PACKAGE.rglob("*.py")
        if path != names_of_users
        for imported in imported_packages(path)
    }
    assert len(arrows) > 50
    assert not {(package, imported) for package, imported in arrows if imported not in allowed(package)}


def test_nothing_below_the_command_line_reads_arguments_environment_or_folder():
    for path in PACKAGE.rglob("*.py"):
        if package_of(path) not in ("cli", "__main__"):
            text = path.read_text()
            assert not any(word in text for word in ("sys.argv", "os.environ", "os.getenv", "getcwd", "Path.cwd")), path


def loaded_by(statement, first="pass"):
    """Modules that a statement imports in a new process, beside those of a statement before it."""
    before = "before = set(sys.modules)"
    code = f"import sys; {first}; {before}; {statement}; print(' '.join({{*sys.modules}} - before))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_does_not_import_torch():
    assert not loaded_by("import kappagcn, kappagcn.cli") & {"torch", "numpy", "matplotlib", "geoopt", "scipy"}


def test_importing_the_geometry_imports_nothing_heavy_besides_torch():
    result = loaded_by("import kappagcn.geometry", first="import torch")
    assert "kappagcn.geometry" in result
    assert not result & {"matplotlib", "geoopt", "scipy", "rich", "typer", "pandas", "networkx", "mpmath"}


def test_public_names_exist_and_are_documented():
    import kappagcn.estimators as estimators
    import kappagcn.geometry as geometry
    import kappagcn.graphs as graphs
    import kappagcn.models as models
    import kappagcn.nn as nn
    import kappagcn.paper as paper
    import kappagcn.sparse as sparse
    import kappagcn.training as training

    for module in (kappagcn, geometry, graphs, sparse, nn, models, training, estimators, paper):
        for name in module.__all__:
            thing = getattr(module, name)
            assert not callable(thing) or thing.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = kappagcn.nonsense
    assert set(dir(kappagcn)) == set(kappagcn.__all__)
