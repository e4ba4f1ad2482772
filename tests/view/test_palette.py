"""Colours of classes seen with each of the three colour-vision deficiencies (Machado et al. 2009, severity 1)."""

import itertools

import numpy as np
import pytest

from kappagcn.view.palette import COLOURS, SHAPES, mark

SEEN = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.119192, 0.9503041]]
)
GROUNDS = {"light": "#fbfcfe", "dark": "#12161c"}


def linear(colour):
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    t = TO_XYZ @ np.clip(rgb, 0, 1) / TO_XYZ.sum(1)
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def difference(one, two):
    """ΔE of CIEDE2000 (Sharma, Wu, Dalal 2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, two
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25**7))
    a1, a2 = stretch * a1, stretch * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    dl, dc, dh = l2 - l1, c2 - c1, 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn) / 2)
    lm, cm, hm = (l1 + l2) / 2, (c1 + c2) / 2, (h1 + turn / 2) % 360
    t = 1 - 0.17 * np.cos(np.radians(hm - 30)) + 0.24 * np.cos(np.radians(2 * hm))
    t += 0.32 * np.cos(np.radians(3 * hm + 6)) - 0.20 * np.cos(np.radians(4 * hm - 63))
    sl = 1 + 0.015 * (lm - 50) ** 2 / np.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    around = np.sin(np.radians(60 * np.exp(-(((hm - 275) / 25) ** 2))))
    rotation = -2 * np.sqrt(cm**7 / (cm**7 + 25**7)) * around
    return np.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * dc / sc * dh / sh)


def test_the_difference_is_that_of_published_pairs():
    pairs = [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ]
    for one, two, expected in pairs:
        assert difference(one, two) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("theme", COLOURS)
@pytest.mark.parametrize("sight", SEEN)
def test_any_two_colours_differ_for_every_kind_of_colour_vision(theme, sight):
    seen = [lab(np.asarray(SEEN[sight]) @ linear(colour)) for colour in COLOURS[theme]]
    assert min(difference(one, two) for one, two in itertools.combinations(seen, 2)) >= 10


@pytest.mark.parametrize("theme", COLOURS)
def test_colours_stand_out_from_the_ground(theme):
    ground = linear(GROUNDS[theme]) @ TO_XYZ[1] + 0.05
    for colour in COLOURS[theme]:
        own = linear(colour) @ TO_XYZ[1] + 0.05
        assert max(own, ground) / min(own, ground) > 2.2


def test_shapes_change_from_the_fifth_class_on_and_no_two_look_the_same():
    assert [mark(label, "light")[1] for label in range(5)] == ["disc"] * 4 + ["square"]
    marks = {mark(label, "dark") for label in range(8 * len(SHAPES))}
    assert len(marks) == 40
