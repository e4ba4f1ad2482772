"""A small labelled graph and its split, for all tests of training."""

import pytest

from kappagcn.graphs import disease, random_split


@pytest.fixture
def data():
    data = disease(200)
    data.x = 0.1 * data.x
    return data


@pytest.fixture
def split(data):
    return random_split(data.y, 0)
