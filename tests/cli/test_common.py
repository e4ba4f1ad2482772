"""What commands have in common."""

import os
import subprocess
import sys

import pytest

LOADED = """
import importlib.abc, os, sys

class Watch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torch":
            print("loaded with", os.environ.get("OMP_WAIT_POLICY"))

sys.meta_path.insert(0, Watch())
from kappagcn.cli import app
print("imported with", os.environ.get("OMP_WAIT_POLICY"))
app(["info", "karate"])
"""


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_a_command_loads_torch_with_threads_that_sleep_unless_the_environment_says_otherwise(given, expected):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    if given is not None:
        environment["OMP_WAIT_POLICY"] = given
    done = subprocess.run([sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[:2] == [f"imported with {given}", f"loaded with {expected}"]
