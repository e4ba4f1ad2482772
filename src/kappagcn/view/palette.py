"""Colours and shapes of classes, for pictures and pages.

The colours start from those of Okabe and Ito and were moved until every two of them differ by at least 12 (CIEDE2000)
for readers with protanopia, deuteranopia or tritanopia, on a light and on a dark ground.
"""

COLOURS: dict[str, tuple[str, ...]] = {
    "light": ("#0771b0", "#de6a10", "#009e74", "#cc7daa", "#785b01", "#05b4f4", "#5b2788", "#8b0e36"),
    "dark": ("#3a81ac", "#f0813d", "#2cbb8e", "#df9bc2", "#f0e445", "#64e2ff", "#a070ff", "#c13b5a"),
}
SHAPES = ("disc", "square", "triangle", "diamond", "cross")
SAME_SHAPE = 4  # classes before the shape changes


def mark(label: int, theme: str) -> tuple[str, str]:
    """Colour and shape of a class; no two of the first 40 share both.

    >>> mark(4, "light")
    ('#785b01', 'square')
    """
    colours = COLOURS[theme]
    return colours[label % len(colours)], SHAPES[label // SAME_SHAPE % len(SHAPES)]
