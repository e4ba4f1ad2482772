"""Graphs and a fitted classifier that tests of several rooms share."""

import pytest

from kappagcn import KappaGCNClassifier
from kappagcn.graphs import disease, random_split


@pytest.fixture
def data():
    """A small labelled graph with small features."""
    data = disease(200)
    data.x = 0.1 * data.x
    return data


@pytest.fixture
def split(data):
    return random_split(data.y, 0)


@pytest.fixture(scope="session")
def epidemic():
    """A small labelled graph as a user has it, without names of classes."""
    data = disease(200)
    del data.class_names
    return data


@pytest.fixture(scope="session")
def fitted(epidemic):
    return KappaGCNClassifier("H4xS2", epochs=15, verbose=False).fit(epidemic)
