"""Formulas of the documentation as MathML, which browsers draw without a script or a network.

In the repository they are plain Unicode in code blocks and tables, readable as they are; the site gets fractions, roots
and indices from the same text.
"""

import re
from html import escape
from typing import NamedTuple

FUNCTIONS = {
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "arsin", "artan", "artanh", "atan2", "exp", "log", "gyr"),
    *("lift", "lower", "argmin", "min", "max"),
}
WORDS = {"for", "with", "and"}  # allowed inside a formula
ACCENT = r"[\u0300-\u036f]"
TOKEN = re.compile(rf"\s+|[A-Za-z]{ACCENT}+|\d+(?:\.\d+)?|[A-Za-z]+\d?(?=\()|[A-Za-z]+|.{ACCENT}*'?", re.DOTALL)
CLOSING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "|": "|"}
MINUS = {"-", "−"}
OPEN = {"<mo>=</mo>", "<mo>,</mo>"}  # a minus after these is a sign
APPLIED = {"<mi>d</mi>"}  # letters that are functions where a bracket follows at once
FRACTION = re.compile(r"<mfrac>(?:(?!</?mfrac>).)*</mfrac>")
RAISED = {"²": "2", "³": "3", "⁴": "4", "⊗": "⊗"}
TABLE_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
PROSE = re.compile(
    r"```.*?```|`[^`]*`|\]\([^)]*\)|<math.*?</math>|</?[A-Za-z][^>]*>|(?P<other>[^`<\]]+|\]|<)", re.DOTALL
)
BLOCK = re.compile(r"^```\n(?P<inside>.*?)^```$", re.MULTILINE | re.DOTALL)


class Group(NamedTuple):
    """A piece of MathML; `bare` is what is inside its round brackets, if it has some."""

    text: str
    bare: str = ""
    function: bool = False


def is_formula(text: str) -> bool:
    """Whether a text is a formula rather than words.

    >>> is_formula("d(x, y) = 2 artan_κ|−x ⊕ y|"), is_formula("the same for every multiple"), is_formula("H8xS8")
    (True, False, False)
    """
    if not text.strip() or re.search(r"[`\[]|[A-Z]\d+x[A-Z]|^[HSEU]\d", text.replace("gyr[", "gyr(")):
        return False
    words = {word for word in re.findall(r"[A-Za-z]{3,}", text) if word.rstrip("2") not in FUNCTIONS | WORDS | {"atan"}}
    return not words and bool(re.search(r"[=⊕⊗⊠κλ√⟨|Σ/^²]|[a-z] \+|\w\(", text))


def to_mathml(text: str) -> str:
    """A formula in plain Unicode as MathML.

    >>> to_mathml("x/2")
    '<math displaystyle="true"><mfrac><mi>x</mi><mn>2</mn></mfrac></math>'
    """
    tokens = TOKEN.findall(text.strip())
    inside = _row(_sequence(tokens, ""))
    return f'<math displaystyle="true">{inside.replace("|", "&#124;")}</math>'  # a bar would end a cell of a table


def _row(groups: list[Group]) -> str:
    return "".join(group.text for group in groups)


def _sequence(tokens: list[str], closing: str) -> list[Group]:
    """Pieces up to the closing bracket, which is taken too."""
    groups: list[Group] = []
    while tokens:
        if tokens[0] == closing:
            tokens.pop(0)
            return groups
        if tokens[0].isspace():
            tokens.pop(0)
        elif tokens[0] == "/" and groups:
            tokens.pop(0)
            _divide(groups, tokens)
        elif tokens[0] in MINUS and (not groups or groups[-1].text in OPEN):
            groups.append(Group(f'<mo form="prefix">{tokens.pop(0)}</mo>'))
        else:
            group = _scripts(tokens)
            applied = bool(groups) and groups[-1].function
            single = FRACTION.fullmatch(group.bare) and not applied  # (1/2) x needs no brackets
            groups.append(Group(group.bare) if single else group)
    return groups


def _divide(groups: list[Group], tokens: list[str]) -> None:
    """Take the last piece, with its function, as the numerator and the next as the denominator."""
    while tokens and tokens[0].isspace():
        tokens.pop(0)
    above = groups.pop()
    numerator = above.bare or above.text
    if groups and groups[-1].function:
        numerator = groups.pop().text + above.text
    below = _scripts(tokens)
    if below.function and tokens:
        below = Group(below.text + _scripts(tokens).text)
    groups.append(Group(f"<mfrac>{_one(numerator)}{_one(below.bare or below.text)}</mfrac>"))


def _one(text: str) -> str:
    """A single element: several become a row."""
    return text if re.fullmatch(r"<(\w+)(?: [^>]*)?>[^<]*</\1>", text) else f"<mrow>{text}</mrow>"


def _scripts(tokens: list[str]) -> Group:
    """A piece with what stands below and above it."""
    base = _atom(tokens)
    below = above = ""
    while tokens:
        if tokens[0] == "_" and len(tokens) > 1:
            tokens.pop(0)
            braced = tokens[0] == "{" and tokens.pop(0)
            below = _row(_sequence(tokens, "}")) if braced else _atom(tokens).text
        elif tokens[0] == "^" and len(tokens) > 1:
            tokens.pop(0)
            raised = _atom(tokens)
            above = raised.bare or raised.text
        elif tokens[0] in RAISED and tokens[0] != "⊗":
            above = f"<mn>{RAISED[tokens.pop(0)]}</mn>"
        else:
            break
    applied = base.text in APPLIED and bool(tokens) and tokens[0] == "("
    if not (below or above):
        return Group(base.text + _atom(tokens).text) if applied else base
    parts = _one(base.text) + (_one(below) if below else "") + (_one(above) if above else "")
    tag = "msubsup" if below and above else "msub" if below else "msup"
    scripted = f"<{tag}>{parts}</{tag}>"
    return Group(scripted + _atom(tokens).text) if applied else Group(scripted, function=base.function)


def _atom(tokens: list[str]) -> Group:
    token = tokens.pop(0)
    if token in CLOSING:
        inside = _row(_sequence(tokens, CLOSING[token]))
        stretchy = "" if "<mfrac>" in inside else ' stretchy="false"'  # about a fraction brackets are as tall as it is
        brackets = [f"<mo{stretchy}>{escape(each)}</mo>" for each in (token, CLOSING[token])]
        return Group(f"<mrow>{brackets[0]}{inside}{brackets[1]}</mrow>", bare=inside if token == "(" else "")
    if token == "√":
        inside_root = _scripts(tokens) if tokens else Group("")
        return Group(f"<msqrt>{inside_root.bare or inside_root.text}</msqrt>")
    if token in WORDS:
        return Group(f"<mtext>&nbsp;{token}&nbsp;</mtext>")
    if token in FUNCTIONS:
        return Group(f'<mo lspace="0.2em" rspace="0">{token}</mo>', function=True)
    if re.fullmatch(r"\d.*|½", token):
        return Group(f"<mn>{token}</mn>")
    if len(token) > 1 and token.isascii() and token.isalpha():  # letters that were not set apart: a product
        return Group("".join(f"<mi>{letter}</mi>" for letter in token))
    if token[0].isalpha():
        return Group(f"<mi>{escape(token)}</mi>")
    return Group(f"<mo>{escape(token)}</mo>")


def with_mathml(markdown: str) -> str:
    """A page whose plain code blocks and table cells that are formulas are MathML; indices in its sentences are low."""
    return PROSE.sub(_indices, TABLE_ROW.sub(_table_row, BLOCK.sub(_block, markdown)))


def _indices(match: re.Match[str]) -> str:
    """A piece of a sentence with indices and powers in their places; code, links and formulas stay as they are."""
    if match["other"] is None:
        return match[0]
    low = re.sub(r"(?<=[A-Za-zλκαΣρ])_([A-Za-zκ0]|ij)(?![A-Za-z])", r"<sub>\1</sub>", match["other"])
    return re.sub(r"(?<=[A-Za-zσ])\^(?:\(([^()]*)\)|([A-Z⊗]))", lambda m: f"<sup>{m[1] or m[2]}</sup>", low)


def _block(match: re.Match[str]) -> str:
    rows = []
    for line in match["inside"].splitlines():
        cells = re.split(r" {2,}(?!=)", re.sub(r" +(?==)", " ", line.strip()))
        if not line.strip():
            continue
        rows.append("".join(f"<td>{to_mathml(c) if is_formula(c) else escape(c)}</td>" for c in cells))
    if not any("<math" in row for row in rows):
        return match[0]
    return '<table class="formulas"><tbody>' + "".join(f"<tr>{row}</tr>" for row in rows) + "</tbody></table>"


def _table_row(match: re.Match[str]) -> str:
    cells = re.split(r"(?<!\\)\|", match[0][1:-1])
    plain = [cell.replace("\\|", "|").strip() for cell in cells]
    written = [f" {to_mathml(p)} " if is_formula(p) else cell for cell, p in zip(cells, plain, strict=True)]
    return "|" + "|".join(written) + "|"
