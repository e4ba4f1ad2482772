import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.errors import GeometryError
from kappagcn.geometry.signature import Factor, format_signature, parse_signature


@pytest.mark.parametrize(
    ("signature", "factors"),
    [
        ("H8xS8", [("H", 8, -1.0), ("S", 8, 1.0)]),
        ("H2^4", [("H", 2, -1.0)] * 4),
        ("E16", [("E", 16, 0.0)]),
        ("U8", [("U", 8, 0.0)]),
        ("H8(-0.5)", [("H", 8, -0.5)]),
        ("H2(-0.5)^2xE1", [("H", 2, -0.5)] * 2 + [("E", 1, 0.0)]),
        (" h8 × S8(2e-1) * U3(-.1)", [("H", 8, -1.0), ("S", 8, 0.2), ("U", 3, -0.1)]),
        ("H8(−0.5)", [("H", 8, -0.5)]),
    ],
)
def test_reads(signature, factors):
    assert parse_signature(signature) == [Factor(*f) for f in factors]


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("", "found ''"),
        (None, "found None"),
        ("H", "found 'H'"),
        ("8", "found '8'"),
        ("H8xQ3", "found 'Q' in 'Q3' in 'H8xQ3'"),
        ("H8xxS8", "found '' in 'H8xxS8'"),
        ("H8x", "found '' in 'H8x'"),
        ("H0", "at least 1, found 'H0'"),
        ("H2^0", "at least 1, found 'H2\\^0'"),
        ("H-2", "found 'H-2'"),
        ("H2.5", "found 'H2.5'"),
        ("H8(0.5)", "curvature below 0 for H, found 0.5 in 'H8\\(0.5\\)'"),
        ("S8(-1)", "curvature above 0 for S, found -1"),
        ("E8(1)", "curvature of 0 for E, found 1"),
        ("U8(inf)", "finite for U, found inf"),
        ("H8(-inf)", "found -inf"),
        ("S2(x)", "number in the parentheses of 'S2\\(x\\)' .* found 'x'"),
        ("H8(-0.5", "found 'H8\\(-0.5'"),
    ],
)
def test_refuses_and_names_the_part(signature, message):
    with pytest.raises(GeometryError, match=message):
        parse_signature(signature)


factors = st.builds(Factor, st.just("H"), st.integers(1, 30), st.sampled_from([-1.0, -0.5, -2.25])) | st.builds(
    Factor, st.sampled_from("EU"), st.integers(1, 30), st.just(0.0)
)


@given(st.lists(factors, min_size=1, max_size=6))
def test_round_trip(actual):
    assert parse_signature(format_signature(actual)) == actual


@given(st.text(alphabet="HSEUx^()-.0123456789 ", max_size=12))
def test_no_text_raises_anything_else(text):
    with contextlib.suppress(GeometryError):
        assert all(f.dim >= 1 for f in parse_signature(text))
