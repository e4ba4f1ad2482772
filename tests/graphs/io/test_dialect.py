"""The layout of a text file from its first rows, for readers of files larger than memory."""

import bz2
import gzip

import pytest

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io import dialect as module
from kappagcn.graphs.io.dialect import read_dialect


@pytest.mark.parametrize(
    ("text", "delimiter", "heading", "skip", "comment", "quoted"),
    [
        ("1,2\n2,3\n", ",", None, 0, "", False),
        ("\ufeffsource\ttarget\n1\t2\n", "\t", ["source", "target"], 1, "", False),
        ("# a\n% b\n\n1 2\n", " ", None, 3, "%", False),
        ('"weight","source","target"\n2,"ann","bob"\n', ",", ["weight", "source", "target"], 1, "", True),
    ],
)
def test_layouts(tmp_path, text, delimiter, heading, skip, comment, quoted):
    for ending, pack in (("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)):
        path = tmp_path / f"edges.csv{ending}"
        path.write_bytes(pack(text.encode()))
        layout = read_dialect(path)
        assert (layout.delimiter, layout.heading, layout.skip) == (delimiter, heading, skip)
        assert (layout.comment, layout.quoted) == (comment, quoted)
        assert layout.compression == {"": None, ".gz": "gzip", ".bz2": "bz2"}[ending]


def test_the_sample_ends_with_a_line(tmp_path, monkeypatch):
    """Neither a character of several bytes nor a row is cut."""
    path = tmp_path / "edges.csv"
    path.write_text("ä,ö\nö,ü\nü,ä\n", encoding="utf-8")
    for size in range(13, 19):
        monkeypatch.setattr(module, "SAMPLE", size)
        assert read_dialect(path).sample.columns.num_rows in (2, 3)


def test_a_doubtful_heading_is_refused(tmp_path):
    (tmp_path / "edges.csv").write_text("payer,payee\nann,bob\n")
    with pytest.raises(GraphFileError, match="which may be either"):
        read_dialect(tmp_path / "edges.csv")
    assert read_dialect(tmp_path / "edges.csv", header=True).skip == 1
