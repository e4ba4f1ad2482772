"""Build the wheel, install it where the checkout is not, alone and with each extra, and use it there.

python tools/wheel.py                    alone and with every extra of pyproject.toml
python tools/wheel.py --extra large      with that extra only; --extra "" is the wheel alone
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "src")
CHECK = """
import importlib.util, pathlib, sys
import kappagcn
place = pathlib.Path(kappagcn.__file__).resolve()
assert place.is_relative_to(pathlib.Path(sys.prefix).resolve()), f"expected the installed package, found {place}"
has = lambda name: importlib.util.find_spec(name) is not None
print(*filter(has, ("duckdb", "pymetis", "mkdocs", "geoopt", "pytest")))
"""


def call(*command: str | Path, cwd: Path, quiet: bool = True) -> str:
    """What a command prints; where it fails, all it said. It sees neither the checkout nor a user's own packages."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment |= {"PYTHONNOUSERSITE": "1"}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path) -> Path:
    """The wheel, from a copy: what an earlier build left in the checkout does not get into it."""
    source = folder / "source"
    source.mkdir()
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / name, source / name)
    call(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source, cwd=folder)
    (wheel,) = folder.glob("kappagcn-*.whl")
    return wheel


def install(folder: Path, wheel: Path, extra: str, like: Path | None) -> Path:
    """An environment with the wheel and what it needs; what another one holds already is linked instead of fetched."""
    call(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    if like is not None:
        for source, target in zip(packages(like), packages(folder), strict=True):
            shutil.rmtree(target)
            shutil.copytree(source, target, copy_function=os.link)
    python = folder / "bin" / "python"
    if like is not None:
        call(python, "-m", "pip", "uninstall", "--quiet", "--yes", "kappagcn", cwd=folder)
    wanted = f"kappagcn[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    call(python, "-m", "pip", "install", "--quiet", wanted, cwd=folder)
    call(python, "-m", "pip", "check", cwd=folder)
    return folder


def packages(environment: Path) -> list[Path]:
    return sorted(environment.glob("lib/python*/site-packages"))


def use(environment: Path, folder: Path) -> None:
    """The demo and the README's lines of Python, in an empty folder."""
    folder.mkdir()
    python = environment / "bin" / "python"
    print(f"  extras present: {call(python, '-c', CHECK, cwd=folder).strip() or 'none'}", flush=True)
    start = time.perf_counter()
    call(environment / "bin" / "kappagcn", "demo", "--quick", "--out", "demo", cwd=folder)
    print(f"  kappagcn demo --quick: {time.perf_counter() - start:.0f} s", flush=True)
    for name in ("tree-report.html", "disease-report.html"):
        assert 'createElement("canvas")' in (folder / "demo" / name).read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None, "expected a block of Python in README.md, found none"
    start = time.perf_counter()
    lines = call(python, "-c", block[1], cwd=folder).splitlines()
    wanted = re.findall(r"# → (.*)", block[1])
    assert [re.sub(r"[\d.]+", "0", line) for line in lines] == [re.sub(r"[\d.]+", "0", line) for line in wanted], lines
    print(f"  the README's Python: {time.perf_counter() - start:.0f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", action="append", choices=["", *EXTRAS], help="alone and with each by default")
    chosen = parser.parse_args().extra or ["", *EXTRAS]
    with tempfile.TemporaryDirectory(prefix="kappagcn-wheel-") as scratch:
        folder = Path(scratch)
        wheel = build(folder)
        print(f"{wheel.name}: {wheel.stat().st_size / 1024:.0f} KiB", flush=True)
        plain = install(folder / "alone", wheel, "", None)
        for extra in chosen:
            print(f"kappagcn[{extra}]" if extra else "kappagcn", flush=True)
            environment = install(folder / f"with-{extra}", wheel, extra, plain) if extra else plain
            use(environment, folder / f"use-{extra or 'alone'}")
            if extra:
                shutil.rmtree(environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
