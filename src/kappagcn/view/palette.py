"""Names, colours and shapes of classes, for pictures and pages."""

import os
from collections.abc import Iterable

# They start from the colours of Okabe and Ito and were moved until every two of them differ by at least 12 (CIEDE2000)
# for readers with protanopia, deuteranopia or tritanopia, on a light and on a dark ground.
COLOURS: dict[str, tuple[str, ...]] = {
    "light": ("#0771b0", "#de6a10", "#009e74", "#cc7daa", "#785b01", "#05b4f4", "#5b2788", "#8b0e36"),
    "dark": ("#3a81ac", "#f0813d", "#2cbb8e", "#df9bc2", "#f0e445", "#64e2ff", "#a070ff", "#c13b5a"),
}
SHAPES = ("disc", "square", "triangle", "diamond", "cross")
SAME_SHAPE = 4  # classes before the shape changes
LONGEST = 24  # largest number of letters of a name


def mark(label: int, theme: str) -> tuple[str, str]:
    """Colour and shape of a class; no two of the first 40 share both.

    >>> mark(4, "light")
    ('#785b01', 'square')
    """
    colours = COLOURS[theme]
    return colours[label % len(colours)], SHAPES[label // SAME_SHAPE % len(SHAPES)]


def short_names(names: Iterable[object], longest: int = LONGEST) -> list[str]:
    """Names without the path that all have in common, shortened to some letters.

    >>> short_names(["AI/ML/Theory", "AI/ML/Rule_Learning"])
    ['Theory', 'Rule Learning']
    """
    full = [str(name) for name in names]
    # The last part of a path is enough if it is different for all classes; otherwise the common part is left out.
    last = [name.rsplit("/", 1)[-1] for name in full]
    if len(set(last)) == len(full) > 1 and all(last):
        plain = last
    else:
        start = os.path.commonprefix(full).rfind("/") + 1  # noqa: RUF071 (letters, then whole folders)
        plain = [name[start:] or name for name in full]
    plain = [name.replace("_", " ") for name in plain]
    return [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in plain]
