"""Columns of delimited files: the fast reader and the one that reads line by line agree, and errors name their line."""

import bz2
import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.errors import GraphFileError
from kappagcn.graphs import read_graph
from kappagcn.graphs.io import text as module
from kappagcn.graphs.io.text import DelimitedFile, compressed, ending_of, is_number, read_content, stem_of


def write(folder, text):
    path = folder / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def cells(file, skip=0):
    return list(pa.concat_tables(file.tables(skip)).to_pydict().values())


def fast(file):
    """What pyarrow reads."""
    content = b"".join(file._blocks())
    return list(file._parse(file._regular(content[file._starts[0] :])).to_pydict().values())


def by_line(file):
    content = b"".join(file._blocks())
    return list(file._by_line(file._rows(content, None)).to_pydict().values())


def rows(file):
    return list(map(list, zip(*cells(file), strict=True)))


@pytest.mark.parametrize(
    ("text", "separator", "want"),
    [
        ("a,b\nc,d\n", ",", [["a", "b"], ["c", "d"]]),
        ("a;b,c\n", ";", [["a", "b,c"]]),
        ("a\tb;c\n", "\t", [["a", "b;c"]]),
        ("  a   b \t c\n", "\t", [["a   b", "c"]]),
        ('"a, b"|c\n', "|", [["a, b", "c"]]),
        ("  a   b  c \n", None, [["a", "b", "c"]]),
        ("# one\n\n  % two\na b\n", None, [["a", "b"]]),
        ("\ufeff# one\na,b\n", ",", [["a", "b"]]),
        ("", None, []),
    ],
)
def test_the_separator_is_the_first_of_the_first_row(tmp_path, text, separator, want):
    file = DelimitedFile(write(tmp_path, text))
    assert file.separator == separator
    assert file.first == (want[0] if want else None)
    assert not want or rows(file) == want


def test_line_numbers_count_comments_and_empty_lines(tmp_path):
    file = DelimitedFile(write(tmp_path, b"# one\r\n\r\na,b\r\n# four\r\nc,d\r\n"))
    assert [file.place(row).rpartition(" ")[2] for row in range(2)] == ["3", "5"]


@given(
    st.integers(1, 40),
    st.lists(
        st.tuples(*[st.text(alphabet=" abé07.-#%\t\u00a0", max_size=4)] * 2, st.integers()), min_size=1, max_size=12
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.booleans(),
)
def test_both_readers_agree(tmp_path_factory, cut, pairs, separator, end, quoted):
    """pyarrow's columns are those of the reader line by line, wherever blocks end."""
    quote = '"' if quoted else ""
    lines = [separator.join((f"{quote}{a}{quote}", f"{quote}{b}{quote}", repr(w))) for a, b, w in pairs]
    path = write(tmp_path_factory.mktemp("rows"), end.join(lines))
    try:
        slow = by_line(DelimitedFile(path))
    except (GraphFileError, ValueError):
        return  # a comment with fewer columns, a quoted cell cut by another separator, or all rows are comments
    file = DelimitedFile(path)
    assert cells(file) == slow
    if quoted and file.separator == separator:
        assert slow == [[str(cell) for cell in column] for column in zip(*pairs, strict=True)], "as it stands"
    block, module.BLOCK = module.BLOCK, cut
    try:
        assert cells(DelimitedFile(path)) == slow
    except GraphFileError:  # a mark above the first row is doubtful only where the row is in the same block
        pass
    finally:
        module.BLOCK = block


def test_a_tab_ends_an_empty_first_cell(tmp_path):
    """So that the line does not start with the mark of a comment behind it."""
    file = DelimitedFile(write(tmp_path, "a\tb\t1\n\t%\t2\n # c\td\t3\n"))
    assert fast(file) == by_line(file) == [["a", ""], ["b", "%"], ["1", "2"]]


@pytest.mark.parametrize(
    "text", ["a b 1\nc  d\t2\n", "  a b 1  \n\tc d 2\n", "a b 1\n# c d 2\nc d 2", "a b 1\r\nc d 2\r"]
)
def test_blanks_of_any_number_separate(tmp_path, text):
    file = DelimitedFile(write(tmp_path, text))
    assert fast(file) == by_line(file) == [["a", "c"], ["b", "d"], ["1", "2"]]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('"a","b"\n"c ""d""",e\n', [["a", 'c "d"'], ["b", "e"]]),
        ('a,b\nc"d,e\n"f",g"h\n', [["a", 'c"d', "f"], ["b", "e", 'g"h']]),
        ('a,b\n"c\n#d",e\n', [["a", "c\n#d"], ["b", "e"]]),
        ('"#a",b\n# c,d\n"%c",d\n', [["#a", "%c"], ["b", "d"]]),
        ('" a",b \n"c\r",d\n', [[" a", "c\r"], ["b", "d"]]),
        ('# it is a "heading\na,"b"\n', [["a"], ["b"]]),
    ],
)
def test_quoted_cells(tmp_path, text, want):
    assert cells(DelimitedFile(write(tmp_path, text))) == want


def test_regular_files_take_the_fast_way(tmp_path):
    """A comment in the middle, quotation marks, CRLF and blanks do not make a file slow to read."""
    for text in ("a,b\n# c\nc,d\n", '"a","b"\nc,d\n', "a,b\r\nc,d\r\n", " a , b \nc,d\n", "a b\nc d\n"):
        assert fast(DelimitedFile(write(tmp_path, text))) == [["a", "c"], ["b", "d"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,1\nc,d\n", "line 2: expected 3 columns, as in the first line, found 2"),
        ("a,b,1\n\n# x\nc,d,1,2\n", "line 4: expected 3 columns, as in the first line, found 4"),
        (b"a,b,1\nc,\xff,2\n", "line 2: expected text in UTF-8"),
        ('a,b,1\nc,"d,2\ne,f,3\n', "line 2: expected a table.*quotation mark"),
        ('a,"b",1\nc,"d"x,2\ne,f\n', "line 2: expected a table.*quotation mark"),
    ],
)
def test_errors_name_the_line(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(GraphFileError, match=words):
        cells(DelimitedFile(path))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(GraphFileError, match="cannot be read"):
        DelimitedFile(tmp_path)


def test_numbers_are_pythons():
    assert all(map(is_number, ("1", "-2.5e3", " 4 ", "nan", "inf")))
    assert not any(map(is_number, ("", "a", "1,5", "0x1")))


def test_names_that_start_with_a_mark_are_rows(tmp_path):
    """Data frames write such names unquoted."""
    pairs = pd.DataFrame({"source": ["#ai", "nyc", "%x", "dog"], "target": ["#ml", "#art", "nyc", "#ai"]})
    pairs.to_csv(tmp_path / "tags.csv", index=False)
    assert rows(DelimitedFile(tmp_path / "tags.csv"))[1:] == pairs.to_numpy().tolist()
    (tmp_path / "noted.csv").write_text("# a,b\n#by hand, today\na,b\n# c,d\n#c\nb,c\n")
    assert rows(DelimitedFile(tmp_path / "noted.csv")) == [["a", "b"], ["b", "c"]]
    (tmp_path / "doubt.csv").write_text("#x,a\na,b\nb,#y\n")
    with pytest.raises(GraphFileError, match="line 1: expected a comment or a row, found '#x,a', which may be either"):
        DelimitedFile(tmp_path / "doubt.csv")


def test_blocks_end_with_a_row(tmp_path, monkeypatch):
    """Neither a character of several bytes nor a quoted cell of two lines is cut, and lines are counted on."""
    path = write(tmp_path, 'ä,"ö\nö"\nü,ä\n# note\nü,"ö ö"\n')
    (tmp_path / "broken").mkdir()
    broken = write(tmp_path / "broken", "a,b\n" * 9 + "a,b,c\n")
    for size in range(1, 40):
        monkeypatch.setattr(module, "BLOCK", size)
        assert cells(DelimitedFile(path)) == [["ä", "ü", "ü"], ["ö\nö", "ä", "ö ö"]]
        assert cells(DelimitedFile(path), skip=1) == [["ü", "ü"], ["ä", "ö ö"]]
        assert DelimitedFile(path).place(2).endswith("line 5")
        with pytest.raises(GraphFileError, match="line 10: expected 2 columns"):
            cells(DelimitedFile(broken))


TEXT = b"source,target\nann,bob\nbob,cem\n"
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("ending", PACKERS)
def test_compressed_files(tmp_path, ending):
    """Those that other programs packed, and our own."""
    file = tmp_path / f"friends.csv{ending}"
    file.write_bytes(PACKERS[ending](TEXT))
    (tmp_path / "friends.labels.csv").write_text("ann,a\nbob,b\ncem,a\n")
    data = read_graph(file)
    assert data.node_names == ["ann", "bob", "cem"]
    assert data.y.tolist() == [0, 1, 0]
    assert data.name == "friends"
    packed = compressed(TEXT * 1000, file)
    assert len(packed) < len(TEXT * 1000) / 10
    file.write_bytes(packed)
    assert read_content(file) == TEXT * 1000
    assert compressed(TEXT, tmp_path / "a.csv") == TEXT


def test_names_and_endings():
    assert [ending_of(Path(name)) for name in ("a.CSV.GZ", "a.mtx", "b.gz", "b")] == [".csv", ".mtx", "", ""]
    assert [stem_of(Path(name)) for name in ("a.b.csv.gz", "a.mtx")] == ["a.b", "a"]


def test_damaged_and_wrong_compressed_files_are_refused(tmp_path, monkeypatch):
    for ending in PACKERS:
        file = tmp_path / f"a.csv{ending}"
        file.write_bytes(b"this is not compressed at all")
        with pytest.raises(GraphFileError, match=f"a.csv{ending}: cannot be read"):
            read_graph(file)
    (tmp_path / "a.npz.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(GraphFileError, match=r"expected a compressed file of text, .* Unpack it first"):
        read_graph(tmp_path / "a.npz.gz")
    monkeypatch.setattr(module, "UNPACKED_LIMIT", 1000)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"0 1\n" * 1000))
    with pytest.raises(GraphFileError, match="expected a file that unpacks to at most 1,000 bytes"):
        read_graph(tmp_path / "bomb.csv.gz")
