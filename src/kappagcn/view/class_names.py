"""Names of classes short enough for a legend."""

import os
from collections.abc import Iterable

LONGEST = 24  # largest number of letters


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
