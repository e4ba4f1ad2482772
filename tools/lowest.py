"""The tests with the lowest versions that pyproject.toml allows, in an environment of their own.

python tools/lowest.py                      all tests
python tools/lowest.py --keep DIR tests/nn  some, in an environment that stays for the next time
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(\[[^\]]*\])?>=(?P<bound>[0-9.]+)$")


def bounds() -> dict[str, str]:
    """The lowest version of everything that the package, its extras and its tests name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    lowest = {}
    for requirement in named:
        if requirement.startswith("kappagcn["):
            continue
        match = REQUIREMENT.match(requirement)
        if match is None:
            raise SystemExit(f"pyproject.toml: expected a requirement such as numpy>=1.26, found {requirement!r}")
        lowest[match["name"]] = match["bound"]
    return lowest


def prepare(folder: Path) -> Path:
    """Install the lowest versions, and this checkout, into an environment in that folder; its Python."""
    constraints = folder / "lowest.txt"
    constraints.write_text("".join(f"{name}=={bound}\n" for name, bound in bounds().items()))
    python = folder / "environment" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
    environment = {**os.environ, "PIP_CONSTRAINT": str(constraints), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    install = [python, "-m", "pip", "install", "--quiet", "--editable", f"{ROOT}[dev]"]
    subprocess.run(install, env=environment, check=True)
    subprocess.run([python, "-m", "pip", "check"], check=True)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder of the environment; one that goes, by default")
    parser.add_argument("tests", nargs="*", help="all by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kappagcn-lowest-") as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        python = prepare(folder.resolve())
        print(*(f"{name} {bound}" for name, bound in bounds().items()), sep=", ", flush=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_CACHE_DIR": f"{scratch}/numba"}
        parallel = ["--numprocesses", "auto", "--dist", "worksteal"]
        # Old packages use what newer ones have deprecated.
        allowed = [word for kind in ("Deprecation", "Future") for word in ("-W", f"ignore::{kind}Warning")]
        command = [python, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *allowed, *parallel, *arguments.tests]
        return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
