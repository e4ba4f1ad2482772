"""Columns of delimited files: the fast reader and the one that reads line by line agree, and errors name their line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.delimited import DelimitedFile, _IrregularFileError, is_number

WORDS = {"name": "two nodes", "number": "a number as weight"}


def write(folder, text):
    path = folder / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def plain(columns):
    return [column.tolist() if isinstance(column, np.ndarray) else column.to_pylist() for column in columns]


def fast(file, kinds, heading=False):
    return plain(file._parse(kinds, heading))


def by_line(file, kinds, heading=False):
    return plain(file._parse_by_line(kinds, heading, WORDS))


@pytest.mark.parametrize(
    ("text", "separator", "rows"),
    [
        ("a,b\nc,d\n", ",", [["a", "b"], ["c", "d"]]),
        ("a;b,c\n", ";", [["a", "b,c"]]),
        ("a\tb;c\n", "\t", [["a", "b;c"]]),
        ("  a   b \t c\n", "\t", [["  a   b ", " c"]]),
        ("  a   b  c \n", None, [["a", "b", "c"]]),
        ("# one\n\n  % two\na b\n", None, [["a", "b"]]),
        ("\ufeff# one\na,b\n", ",", [["a", "b"]]),
        ("", None, []),
    ],
)
def test_the_separator_is_the_first_of_the_first_row(tmp_path, text, separator, rows):
    file = DelimitedFile(write(tmp_path, text))
    assert file.separator == separator
    assert [cells for _, cells in file.rows()] == rows
    assert file.head == list(file.rows())[:2]


def test_line_numbers_count_comments_and_empty_lines(tmp_path):
    file = DelimitedFile(write(tmp_path, b"# one\r\n\r\na,b\r\n# four\r\nc,d\r\n"))
    assert [number for number, _ in file.rows()] == [3, 5]


cells = st.text(alphabet=" abé07.#%\t", max_size=4)


@given(
    st.lists(st.tuples(cells, cells, st.floats(allow_nan=False)), min_size=1, max_size=12),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
    st.booleans(),
)
def test_both_readers_agree(tmp_path_factory, rows, separator, end, heading, quoted):
    quote = '"' if quoted else ""
    lines = [separator.join((f"{quote}{a}{quote}", f"{quote}{b}{quote}", repr(w))) for a, b, w in rows]
    if heading:
        lines.insert(0, separator.join(("from", "to", "weight")))
    kinds = {0: "text", 2: "number"}
    try:
        file = DelimitedFile(write(tmp_path_factory.mktemp("rows"), end.join(lines)))
        if file.separator != separator or len(file.head) <= heading:
            return  # another separator inside a cell comes first, or all rows are comments
        slow = by_line(file, kinds, heading)
    except (GraphFileError, IndexError):
        return  # a comment with fewer columns, or a quoted cell cut by another separator
    try:
        assert fast(file, kinds, heading) == slow
    except _IrregularFileError:
        assert plain(file.columns(kinds, heading=heading, words=WORDS)) == slow


def test_a_tab_ends_an_empty_first_cell(tmp_path):
    """So that the line does not start with the mark of a comment behind it."""
    file = DelimitedFile(write(tmp_path, "a\tb\t1\n\t%\t2\n # c\td\t3\n"))
    kinds = {0: "text", 1: "text", 2: "number"}
    assert fast(file, kinds) == by_line(file, kinds) == [["a", ""], ["b", "%"], [1.0, 2.0]]


@pytest.mark.parametrize(
    "text", ["a b 1\nc  d\t2\n", "  a b 1  \n\tc d 2\n", "a b 1\n# c d 2\nc d 2", "a b 1\r\nc d 2\r"]
)
def test_blanks_of_any_number_separate(tmp_path, text):
    file = DelimitedFile(write(tmp_path, text))
    kinds = {1: "name", 0: "name", 2: "number"}
    assert fast(file, kinds) == by_line(file, kinds) == [["b", "d"], ["a", "c"], [1.0, 2.0]]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('"a","b"\n"c ""d""",e\n', [["a", 'c "d"'], ["b", "e"]]),
        ('a,b\nc"d,e\n"f",g"h\n', [["a", 'c"d', "f"], ["b", "e", 'g"h']]),
        ('a,b\n"c\n#d",e\n', [["a", "c\n#d"], ["b", "e"]]),
    ],
)
def test_quoted_cells(tmp_path, text, want):
    file = DelimitedFile(write(tmp_path, text))
    assert plain(file.columns({0: "name", 1: "name"}, heading=False, words=WORDS)) == want


def test_regular_files_take_the_fast_way(tmp_path):
    """A comment in the middle, quotation marks, CRLF and blanks do not make a file slow to read."""
    for text in ("a,b\n# c\nc,d\n", '"a","b"\nc,d\n', "a,b\r\nc,d\r\n", " a , b \nc,d\n", "a b\nc d\n"):
        assert fast(DelimitedFile(write(tmp_path, text)), {0: "name", 1: "name"}) == [["a", "c"], ["b", "d"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,1\nc,d\n", "line 2: expected 3 columns, as in the first line, found 2"),
        ("a,b,1\n\n# x\nc,d,1,2\n", "line 4: expected 3 columns, as in the first line, found 4"),
        ("a,b,1\n ,d,2\n", "line 2: expected two nodes, found an empty name"),
        ("a,b,1\nc,d,2x\n", "line 2: expected a number as weight, found '2x'"),
        ("a,b,1\nc,d,\n", "line 2: expected a number as weight, found ''"),
        (b"a,b,1\nc,\xff,2\n", "line 2: expected text in UTF-8"),
        ('a,b,1\nc,"d,2\ne,f,3\n', "after line 1: expected a table.*quotation mark"),
        ('a,"b",1\nc,"d"x,2\ne,f\n', "after line 1: expected a table.*quotation mark"),
    ],
)
def test_errors_name_the_line(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(GraphFileError, match=words):
        DelimitedFile(path).columns({0: "name", 1: "name", 2: "number"}, heading=False, words=WORDS)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(GraphFileError, match="cannot be read"):
        DelimitedFile(tmp_path)


def test_numbers_are_pythons():
    assert all(map(is_number, ("1", "-2.5e3", " 4 ", "nan", "inf")))
    assert not any(map(is_number, ("", "a", "1,5", "0x1")))
