import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from kappagcn.errors import ConfigError
from kappagcn.view.figures.style import LIGHT, THEMES, _oklab, blend, save, styled, theme_named


def contrast(one, two):
    """WCAG 2: from 1 to 21."""
    light = []
    for colour in (one, two):
        rgb = np.array(to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        light.append(linear @ [0.2126, 0.7152, 0.0722] + 0.05)
    return max(light) / min(light)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda t: t.name)
def test_a_theme_can_be_read(theme):
    assert contrast(theme.ink, theme.background) > 12
    assert contrast(theme.muted, theme.background) > 3
    assert min(contrast(colour, theme.background) for colour in theme.palette) > 2
    apart = [np.linalg.norm(_oklab(a) - _oklab(b)) for i, a in enumerate(theme.palette) for b in theme.palette[:i]]
    assert min(apart) > 0.07


def test_no_two_classes_look_the_same():
    marks = [LIGHT.mark(label) for label in range(40)]
    assert len(set(marks)) == len(marks)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda t: t.name)
def test_the_diverging_map_is_even_on_both_sides(theme):
    labs = np.array([_oklab(colour[:3]) for colour in theme.diverging(np.linspace(0, 1, 33))])
    steps = np.linalg.norm(np.diff(labs, axis=0), axis=1)
    for half in (steps[:16], steps[16:]):
        assert half.std() < 0.1 * half.mean()
    assert abs(labs[0, 0] - labs[-1, 0]) < 0.15, "both signs weigh the same"


def test_a_map_goes_through_its_colours():
    colours = ["#0a5a94", "#f6f6f4", "#c24e00"]
    shown = blend(colours, steps=257)([0.0, 0.5, 1.0])[:, :3]
    np.testing.assert_allclose(shown, [to_rgb(colour) for colour in colours], atol=2e-3)


def test_settings_of_the_reader_neither_matter_nor_change():
    with matplotlib.rc_context({"axes.spines.top": True, "font.size": 40.0}):
        with styled(LIGHT):
            assert matplotlib.rcParams["font.size"] == 10
        assert matplotlib.rcParams["font.size"] == 40


def test_files_are_whole_and_names_are_checked(tmp_path):
    assert save(Figure(), tmp_path / "new" / "a.png").read_bytes().startswith(b"\x89PNG")
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["a.png"]
    with pytest.raises(ConfigError, match=r"expected a name that ends in .png or .svg, found .jpeg"):
        save(Figure(), tmp_path / "a.jpeg")
    with pytest.raises(ConfigError, match="expected a theme, one of light, dark, found 'grey'"):
        theme_named("grey")
