"""Tests of mixed columns as numbers: each kind of column, missing values, and a second table."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kappagcn.errors import GraphError
from kappagcn.graphs.columns import encode_columns


def test_each_kind_of_column() -> None:
    table = pa.table(
        {
            "count": pa.array([1, 2, 3], pa.int16()),
            "member": [True, False, None],
            "day": [datetime.date(1970, 1, 2), datetime.date(1970, 1, 4), None],
            "text": ["1.5", " 2 ", "NAN"],
            "flag": ["True", "false", None],
            "from": ["1970-01-03", "1970-01-02 12:00", "1970-01-01"],
            "plan": pa.array(["2", "1", "2"]).dictionary_encode(),
            "city": ["Rome", "?", "Bern"],
        }
    )
    columns = encode_columns(table)
    expected = {
        "count": [1, 2, 3],
        "member": [1, 0, 0],
        "member is missing": [0, 0, 1],
        "day": [1, 3, 2],
        "day is missing": [0, 0, 1],
        "text": [1.5, 2, 1.75],
        "text is missing": [0, 0, 1],
        "flag": [1, 0, 0],
        "flag is missing": [0, 0, 1],
        "from": [2, 1.5, 0],
        "plan=2": [1, 0, 1],
        "plan=1": [0, 1, 0],
        "city=Bern": [0, 0, 1],
        "city=Rome": [1, 0, 0],
        "city is missing": [0, 1, 0],
    }
    assert columns.names == list(expected)
    assert columns.values.dtype == np.float32
    np.testing.assert_array_equal(columns.values, np.array(list(expected.values())).T)


def test_sentence_names_what_was_done() -> None:
    table = pa.table(
        {
            "income": [1.5, None, float("nan"), 2.5] * 50,
            "id": [f"customer {i}" for i in range(200)],
            "street": [f"street {i % 70}" for i in range(200)],
            "empty": pa.nulls(200),
        }
    )
    columns = encode_columns(table)
    assert columns.values.shape == (200, 2 + 51)
    assert columns.values[:, -1].sum() == 200 - columns.values[:, 2:-1].sum() > 0
    assert columns.sentence == (
        "features: 1 numeric column, 1 categorical column as 51 indicators, categories after the 50 most frequent "
        "joined in street, missing values imputed in 1 column (income 50 %), 2 columns left out, empty or different in "
        "most rows (id, empty)"
    )


def test_values_of_a_data_frame() -> None:
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(["small", None, "large"], ["small", "large", "huge"]),
            "when": pd.to_datetime(["2020-01-01", None, "2020-01-03 12:00:00.000000001"], format="ISO8601", utc=True),
            "visits": pd.array([1, None, 2], "Int64"),
        }
    )
    columns = encode_columns(pa.Table.from_pandas(frame))
    assert columns.names[:3] == ["size=large", "size=small", "size is missing"]
    when = columns.values[:, 3]
    assert np.isclose(when[2] - when[0], 2.5, atol=0.01)
    assert np.isclose(when[1], when[[0, 2]].mean(), atol=0.01)
    assert columns.values[:, 5].tolist() == [1, 1.5, 2]


def test_another_table_is_encoded_as_the_first_one() -> None:
    first = encode_columns(pa.table({"age": [1.0, 3.0, None], "plan": ["a", "b", "7"], "note": pa.nulls(3)}))
    table = pa.table({"note": ["x", "y"], "plan": pa.array([7, None], pa.int64()), "age": pa.array([None, 9.0])})
    second = encode_columns(table, first.rules)
    assert second.names == first.names == ["age", "age is missing", "plan=7", "plan=a", "plan=b"]
    assert second.values.tolist() == [[2, 1, 1, 0, 0], [9, 0, 0, 0, 0]]
    with pytest.raises(GraphError, match="expected the column 'plan', as in fit, found none"):
        encode_columns(table.drop_columns(["plan"]), first.rules)
    with pytest.raises(GraphError, match="expected numbers in the column 'age', as in fit, found text"):
        encode_columns(table.set_column(2, "age", pa.array(["old", "young"])), first.rules)


def test_columns_that_hold_no_features_are_refused() -> None:
    with pytest.raises(GraphError, match="'tags', found list"):
        encode_columns(pa.table({"tags": [["a"], ["b", "c"]]}))
    nothing = encode_columns(pa.table({"empty": pa.nulls(5), "name": ["Ann", "Bob", "Cid", "Dan", "Eve"]}))
    with pytest.raises(GraphError, match="expected columns of numbers or words, found empty, name, empty or"):
        nothing.check()
    with pytest.raises(GraphError, match="finite numbers in the column 'ratio'"):
        encode_columns(pa.table({"ratio": [1.0, float("inf")]}))
