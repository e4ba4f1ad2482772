"""Columns of delimited files: the fast reader and the one that reads line by line agree, and errors name their line."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.delimited import DelimitedFile, is_number


def write(folder, text):
    path = folder / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def cells(table):
    return [[str(cell) for cell in column] for column in table.to_pydict().values()]


def fast(file, start=0):
    return cells(file._text_table(file._regular_content(file._starts[start][1])))


@pytest.mark.parametrize(
    ("text", "separator", "rows"),
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
def test_the_separator_is_the_first_of_the_first_row(tmp_path, text, separator, rows):
    file = DelimitedFile(write(tmp_path, text))
    assert file.separator == separator
    assert list(file.rows()) == rows
    assert file.head == rows[:2]


def test_line_numbers_count_comments_and_empty_lines(tmp_path):
    file = DelimitedFile(write(tmp_path, b"# one\r\n\r\na,b\r\n# four\r\nc,d\r\n"))
    assert [file.place(row).rpartition(" ")[2] for row in range(2)] == ["3", "5"]


@given(
    st.lists(
        st.tuples(*[st.text(alphabet=" abé07.-#%\t\u00a0", max_size=4)] * 2, st.integers()), min_size=1, max_size=12
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.booleans(),
    st.booleans(),
)
def test_both_readers_agree(tmp_path_factory, rows, separator, end, heading, quoted):
    quote = '"' if quoted else ""
    lines = [separator.join((f"{quote}{a}{quote}", f"{quote}{b}{quote}", repr(w))) for a, b, w in rows]
    if heading:
        lines.insert(0, separator.join(("from", "to", "weight")))
    try:
        file = DelimitedFile(write(tmp_path_factory.mktemp("rows"), end.join(lines)))
        if file.separator != separator or len(file.head) <= heading:
            return  # another separator inside a cell comes first, or all rows are comments
        slow = cells(file._by_line(int(heading)))
    except (GraphFileError, IndexError):
        return  # a comment with fewer columns, or a quoted cell cut by another separator
    assert cells(file.table(int(heading))) == slow
    if quoted:
        assert slow == [[str(cell) for cell in column] for column in zip(*rows, strict=True)], "as it stands"


def test_a_tab_ends_an_empty_first_cell(tmp_path):
    """So that the line does not start with the mark of a comment behind it."""
    file = DelimitedFile(write(tmp_path, "a\tb\t1\n\t%\t2\n # c\td\t3\n"))
    assert fast(file) == cells(file._by_line(0)) == [["a", ""], ["b", "%"], ["1", "2"]]


@pytest.mark.parametrize(
    "text", ["a b 1\nc  d\t2\n", "  a b 1  \n\tc d 2\n", "a b 1\n# c d 2\nc d 2", "a b 1\r\nc d 2\r"]
)
def test_blanks_of_any_number_separate(tmp_path, text):
    file = DelimitedFile(write(tmp_path, text))
    assert fast(file) == cells(file._by_line(0)) == [["a", "c"], ["b", "d"], ["1", "2"]]


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
    assert cells(DelimitedFile(write(tmp_path, text)).table()) == want


def test_regular_files_take_the_fast_way(tmp_path):
    """A comment in the middle, quotation marks, CRLF and blanks do not make a file slow to read."""
    for text in ("a,b\n# c\nc,d\n", '"a","b"\nc,d\n', "a,b\r\nc,d\r\n", " a , b \nc,d\n", "a b\nc d\n"):
        assert fast(DelimitedFile(write(tmp_path, text))) == [["a", "c"], ["b", "d"]]


@pytest.mark.parametrize("text", ["1,2\n-3,0\n", "0,1\n10,20", "5\t0\n7\t100\n"])
def test_integers_in_their_usual_form_are_read_as_such(tmp_path, text):
    file = DelimitedFile(write(tmp_path, text))
    assert set(map(str, file.table().schema.types)) == {"int64"}
    assert cells(file.table()) == cells(file._by_line(0))


@pytest.mark.parametrize("cell", ["007", "+7", "-0", "7.0", "0x10", '"7"', "9223372036854775808", "x"])
def test_integers_in_another_form_remain_text(tmp_path, cell):
    table = DelimitedFile(write(tmp_path, f"1,2\n3,{cell}\n")).table()
    assert cells(table) == [["1", "3"], ["2", cell.strip('"')]]


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
        DelimitedFile(path).table()


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
    assert list(DelimitedFile(tmp_path / "tags.csv").rows())[1:] == pairs.to_numpy().tolist()
    assert DelimitedFile(tmp_path / "tags.csv").table(1).num_rows == 4
    (tmp_path / "noted.csv").write_text("# a,b\n#by hand, today\na,b\n# c,d\n#c\nb,c\n")
    assert list(DelimitedFile(tmp_path / "noted.csv").rows()) == [["a", "b"], ["b", "c"]]
    (tmp_path / "doubt.csv").write_text("#x,a\na,b\nb,#y\n")
    with pytest.raises(GraphFileError, match="line 1: expected a comment or a row, found '#x,a', which may be either"):
        DelimitedFile(tmp_path / "doubt.csv")
