"""A small labelled graph and a classifier fitted to it."""

import pytest

from kappagcn import KappaGCNClassifier
from kappagcn.graphs import disease


@pytest.fixture(scope="package")
def data():
    data = disease(200)
    del data.class_names
    return data


@pytest.fixture(scope="package")
def fitted(data):
    return KappaGCNClassifier("H4xS2", epochs=15, verbose=False).fit(data)
