"""Elementary functions in vector registers, against 50 digits."""

import math

import mpmath
import numpy as np

from kappagcn.kernels import vector_math

EPS = float(np.finfo(np.float64).eps)


@vector_math.compiled
def exponentials(x, out):
    for i in range(x.shape[0]):
        out[i] = vector_math.exponential(x[i])


@vector_math.compiled
def logarithms(x, out):
    for i in range(x.shape[0]):
        out[i] = vector_math.logarithm(x[i])


@vector_math.compiled
def sines_and_cosines(x, sines, cosines):
    for i in range(x.shape[0]):
        sines[i], cosines[i] = vector_math.sine_and_cosine(x[i])


@vector_math.compiled
def polar_angles(y, x, out):
    for i in range(x.shape[0]):
        out[i] = vector_math.polar_angle(y[i], x[i])


def exact(function, *arrays):
    with mpmath.workdps(50):
        return [function(*map(mpmath.mpf, numbers)) for numbers in zip(*(a.tolist() for a in arrays), strict=True)]


def largest_error(actual, wanted, *, relative=True):
    with mpmath.workdps(50):
        pairs = zip(map(mpmath.mpf, actual.tolist()), wanted, strict=True)
        return float(max(abs(a - w) / (abs(w) if relative and w else 1) for a, w in pairs))


def test_exponentials_and_logarithms():
    x = np.concatenate([np.linspace(-690, 690, 301), np.linspace(-1, 1, 200), [0.0, 340.0, 40.0, 1e-300]])
    out = np.empty_like(x)
    exponentials(x, out)
    assert largest_error(out, exact(mpmath.exp, x)) < 2 * EPS
    y = np.concatenate([np.geomspace(1e-300, 1e300, 301), np.linspace(0.5, 2.0, 200), [1.0, 1 + EPS, 9.0 / EPS]])
    out = np.empty_like(y)
    logarithms(y, out)
    assert largest_error(out, exact(mpmath.log, y)) < 4 * EPS


def test_sines_and_cosines_up_to_the_largest_turn():
    quarters = np.arange(8) * (math.pi / 2)
    x = np.concatenate([np.linspace(0, 50, 301), np.geomspace(1e-12, vector_math.LARGEST_TURN, 200), quarters])
    sines, cosines = np.empty_like(x), np.empty_like(x)
    sines_and_cosines(x, sines, cosines)
    assert largest_error(sines, exact(mpmath.sin, x), relative=False) < EPS
    assert largest_error(cosines, exact(mpmath.cos, x), relative=False) < EPS
    near = x < 1
    assert largest_error(sines[near], exact(mpmath.sin, x[near])) < 2 * EPS


def test_polar_angles_in_all_directions():
    angles, lengths = np.linspace(0, math.pi, 201), np.geomspace(1e-9, 1e9, 201)
    y = np.concatenate([lengths * np.abs(np.sin(angles)), [0.0, 1.0, 1.0, 0.0]])
    x = np.concatenate([lengths * np.cos(angles), [1.0, 1.0, 0.0, -1.0]])
    out = np.empty_like(x)
    polar_angles(y, x, out)
    assert largest_error(out, exact(mpmath.atan2, y, x)) < 4 * EPS
