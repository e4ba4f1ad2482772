"""Freed memory that stays with the process."""

import ctypes
import sys

import pytest

from kappagcn.training import resources as memory


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert memory.keep_freed_memory() is False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the C library of Linux")
def test_another_c_library_is_no_error(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())  # has no mallopt
    assert memory.keep_freed_memory() is False
