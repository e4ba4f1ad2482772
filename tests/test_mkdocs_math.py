import re
from html import unescape
from pathlib import Path
from xml.dom import minidom

import pytest

from mkdocs_math import is_formula, to_mathml, with_mathml

PAGE = (Path(__file__).parent.parent / "docs" / "mathematics.md").read_text()


def shape(text):
    """Names of elements and their text, without attributes."""
    return re.sub(r"<math[^>]*>|</math>| stretchy=\"false\"", "", to_mathml(text)).replace("&#124;", "|")


def test_fractions_take_a_function_with_its_argument():
    assert ">sinh</mo>" in shape("sinh(s r)/s").split("</mrow>")[0]
    assert shape("(a + b)/(c d)") == (
        "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mrow><mi>c</mi><mi>d</mi></mrow></mfrac>"
    )


def test_indices_powers_roots_and_bars():
    assert shape("λ_x²") == "<msubsup><mi>λ</mi><mi>x</mi><mn>2</mn></msubsup>"
    assert shape("√(1 + x)") == "<msqrt><mn>1</mn><mo>+</mo><mi>x</mi></msqrt>"
    assert shape("|x|²").startswith("<msup><mrow><mrow><mo>|</mo><mi>x</mi><mo>|</mo>")
    assert shape("v̂") == "<mi>v̂</mi>"


def test_a_distance_is_divided_with_its_arguments():
    fraction = minidom.parseString(shape("d(x, y)/d_G(i, j)")).documentElement
    assert fraction.tagName == "mfrac"
    assert [re.sub(r"<[^>]+>", "", part.toxml()) for part in fraction.childNodes] == ["d(x,y)", "dG(i,j)"]
    assert "{" not in shape("Σ_{i≠j} x")
    assert shape("(2/s) x") == "<mfrac><mn>2</mn><mi>s</mi></mfrac><mi>x</mi>"
    assert shape("sin(d/2)").endswith("</mfrac><mo>)</mo></mrow>")  # an argument keeps its brackets


def test_a_sign_is_no_difference():
    assert shape("a = −b − c").count('form="prefix"') == 1
    assert shape("|−x|").count('form="prefix"') == 1


def test_words_in_formulas_stay_text():
    assert not is_formula("no tensor of size N × M × D for all pairs")
    assert not is_formula("[`add`](api/geometry.md)")
    assert not is_formula("below")
    assert not is_formula("H8(-0.5)")


def test_the_page_on_mathematics_has_its_formulas_in_valid_mathml():
    page = with_mathml(PAGE)
    formulas = re.findall(r"<math.*?</math>", page)
    assert len(formulas) > 50
    for each in formulas:
        minidom.parseString(each.replace("&nbsp;", " "))
        assert "|" not in each
    rows = [len(re.findall(r"(?<!\\)\|", line)) for line in page.splitlines() if line.startswith("| scaling")]
    assert rows == [5]  # four cells, as before


@pytest.mark.parametrize("block", re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_no_letter_of_a_block_is_lost(block):
    made = with_mathml(f"```\n{block}```")
    plain = unescape(re.sub(r"<[^>]+>", "", made))
    letters = sorted(letter for letter in block if letter.isalpha())
    assert sorted(letter for letter in plain if letter.isalpha()) == letters
