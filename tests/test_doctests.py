"""Doctests print what no instruction set changes: the same for inputs that differ in their last digit."""

import doctest
import importlib
import pkgutil

import pytest
import torch

import kappagcn

exactly = torch.tensor


def with_tensors():
    """Docstrings whose examples make tensors of numbers, by the name of what they describe."""
    tests = []
    for result in pkgutil.walk_packages(kappagcn.__path__, "kappagcn."):
        if result.name == "kappagcn.__main__":
            continue
        try:
            module = importlib.import_module(result.name)
        except ModuleNotFoundError:  # an extra is not installed
            continue
        tests += doctest.DocTestFinder().find(module, result.name)
    return {test.name: test for test in tests if any("torch.tensor(" in each.source for each in test.examples)}


TESTS = with_tensors()


def nudged(data, *arguments, **options):
    """A tensor whose entries are off by a rounding or two, unless they are whole numbers."""
    tensor = exactly(data, *arguments, **options)
    if not tensor.is_floating_point():
        return tensor
    with torch.no_grad():
        roundings = torch.randint(-2, 3, tensor.shape).to(tensor.dtype) * torch.finfo(tensor.dtype).eps
        values = torch.where(tensor == tensor.round(), tensor, tensor * (1 + roundings))
    return values.requires_grad_(tensor.requires_grad)


def complaints(test):
    """What a doctest says of five runs with nudged tensors; nothing where each prints what is written."""
    said, runner = [], doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for _ in range(5):
        runner.run(test, out=said.append, clear_globs=False)
    return "".join(said)


@pytest.mark.parametrize("name", TESTS)
def test_what_is_printed_does_not_depend_on_the_last_digit(name, monkeypatch):
    monkeypatch.setattr(torch, "tensor", nudged)
    assert complaints(TESTS[name]) == ""


def test_a_zero_that_rounding_makes_is_noticed(monkeypatch):
    monkeypatch.setattr(torch, "tensor", nudged)
    text = ">>> torch.tensor([0.1, -0.1, 0.2]).cumsum(0)[1:]\ntensor([0.0000, 0.2000])\n"
    test = doctest.DocTestParser().get_doctest(text, {"torch": torch}, "cancels", None, 0)
    assert "Got:" in complaints(test)


def test_there_are_many():
    assert len(TESTS) > 30
