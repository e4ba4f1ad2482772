"""Arrays as text of a page."""

import base64

import numpy as np
import pytest

from kappagcn.view.report.encoded import TYPES, encoded, whole


@pytest.mark.parametrize("kind", TYPES)
def test_what_is_encoded_comes_back(kind):
    values = np.array([[0, 1], [2, 3]])
    (name, text), *others = encoded(values, kind).items()
    assert (name, others) == (kind, [])
    assert np.frombuffer(base64.b64decode(text), TYPES[kind]).tolist() == [0, 1, 2, 3]


def test_whole_numbers_take_as_few_bytes_as_they_need():
    assert list(whole(np.array([0, 65535]))) == ["u2"]
    assert list(whole(np.array([0, 65536]))) == ["i4"]
    assert list(whole(np.array([], dtype=int))) == ["u2"]
