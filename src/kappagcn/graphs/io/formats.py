"""The forms in which graphs are read and written, by the endings of files; the guide's table is made from these."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DELIMITED", "ENDINGS", "FORMATS", "MARKUP", "TABLES", "TEXT", "Format", "formats_table"]


class Format(NamedTuple):
    """A form of files.

    Attributes:
        endings: Endings of file names.
        content: What a file holds, for the guide.
        is_text: Whether files may be compressed, with a second ending, see `compressed.CODECS`.
    """

    endings: tuple[str, ...]
    content: str
    is_text: bool = False


FORMATS = (
    Format(
        (".csv", ".tsv", ".txt", ".tab", ".edges", ".edgelist"),
        "table of edges, one per line, or a square matrix of numbers",
        is_text=True,
    ),
    Format((".parquet",), "table of edges, or a square matrix of numbers"),
    Format((".mtx",), "Matrix Market: coordinates or array, pattern, integer or real", is_text=True),
    Format((".graphml", ".gml"), "NetworkX's formats, whose node attributes may be labels and features", is_text=True),
    Format((".npz",), "arrays of edges, features, labels, names and splits"),
    Format((".npy",), "square matrix of numbers"),
    Format((".pt",), "PyG's `Data`, or its dict of tensors, loaded without running any code"),
)
DELIMITED, MARKUP = FORMATS[0].endings, FORMATS[3].endings
TABLES = DELIMITED + FORMATS[1].endings
TEXT = tuple(ending for form in FORMATS if form.is_text for ending in form.endings)
ENDINGS = tuple(ending for form in FORMATS for ending in form.endings)


def formats_table() -> str:
    """The table of formats in Markdown."""
    rows = [("ending", "content"), ("---", "---")]
    rows += [(" ".join(f"`{ending}`" for ending in form.endings), form.content) for form in FORMATS]
    text = " ".join(f"`{ending}`" for ending in TEXT)
    rows.append(("`.gz` `.zst` `.bz2`", f"after {text}: the same, compressed"))
    rows.append(("a folder", "arrays that are mapped into memory, opened at once whatever their size"))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
