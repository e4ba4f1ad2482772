import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from kappagcn.errors import CheckpointError
from kappagcn.report import write_report
from kappagcn.report.words import facts, number, sentences
from kappagcn.run_folder import SavedRun
from report_runs import classified_run, embedded, save_run, tree_edges, tree_run, tree_vectors

HOSTILE = "</script><img src=x onerror=alert(1)>"
NAMES = [HOSTILE, "\"'`&amp;<!--", "名前 \u2028 \U0001f600 \u202e", "x" * 5000, "\ud800", "<b>&lt;", "--></style>", ""]


class Tags(HTMLParser):
    """All tags with their attributes, and what is inside scripts of data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside, self.data, self.title = [], None, "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = "data" if dict(attrs).get("id") == "data" else tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, text):
        if self.inside == "data":
            self.data += text
        elif self.inside == "title":
            self.title += text


def written(run, tmp_path):
    return write_report(run, tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_run_of_each_kind_is_one_page_with_its_data(tmp_path):
    tree = Tags(written(tree_run(tmp_path / "tree"), tmp_path))
    view = json.loads(tree.data)["view"]
    assert (view["shown"], view["factors"][0]["kind"], view["central"]) == (121, "disk", 0)
    assert len(view["near"]) == len(view["depths"]) == 121
    papers = written(classified_run(tmp_path / "papers"), tmp_path)
    view = json.loads(Tags(papers).data)["view"]
    assert [factor["kind"] for factor in view["factors"]] == ["disk", "sphere"]
    assert "Recall" in papers
    assert "All 2 runs" in papers
    assert "80.0 %" in papers


def test_hostile_names_are_only_text(tmp_path):
    names = NAMES + [f"n{i}" for i in range(13 - len(NAMES))]
    more = {"labels": np.arange(13) % 2, "class_names": np.array([HOSTILE, "b"])}
    told = embedded(tree_vectors(13), [2], [-1.0], tree_edges(13), names=np.array(names), **more)
    summary = {"graph": HOSTILE, "space": HOSTILE, "distortion": 0.1, HOSTILE: HOSTILE, "more": {HOSTILE: 1}}
    text = written(save_run(tmp_path / "<b>run", told, summary), tmp_path)
    found = Tags(text)
    assert not [tag for tag, _ in found.tags if tag == "img"]
    assert HOSTILE not in text
    assert json.loads(found.data)["view"]["names"][0] == HOSTILE
    assert json.loads(found.data)["view"]["names"][:4] == NAMES[:4]
    assert HOSTILE in found.title
    assert [dict(attrs) for tag, attrs in found.tags if tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
    ]


def test_hostile_classes_in_the_confusion_matrix_are_only_text(tmp_path):
    run = classified_run(tmp_path / "papers")
    told = vars(run.embedded) | {"class_names": np.array([HOSTILE, "<i>", "c"])}
    run = save_run(tmp_path / "hostile", type(run.embedded)(**told), run.summary, run.metrics)
    assert not [tag for tag, _ in Tags(written(run, tmp_path)).tags if tag in ("img", "i")]


def test_nothing_is_fetched(tmp_path):
    text = written(classified_run(tmp_path / "papers"), tmp_path)
    tags = Tags(text).tags
    assert not [attrs for _, attrs in tags if {"src", "href", "srcset", "action"} & set(attrs)]
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\(", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}  # a namespace
    policy = next(attrs["content"] for tag, attrs in tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_the_page_names_the_folder_and_not_the_path(tmp_path):
    run = tree_run(tmp_path / "private" / "my-run")
    text = written(run, tmp_path)
    assert "my-run" in text
    assert str(tmp_path) not in text


def test_the_same_run_gives_the_same_page(tmp_path):
    run = tree_run(tmp_path / "tree", nodes=2500)
    text = written(run, tmp_path)
    assert text == written(run, tmp_path)
    view = json.loads(Tags(text).data)["view"]
    assert (view["nodes"], view["shown"], len(view["labels" if "labels" in view else "depths"])) == (2500, 2000, 2000)
    assert max(map(max, view["near"])) < len(view["names"])


def test_numbers_by_epoch_are_in_the_graphs_unit_and_may_be_missing(tmp_path):
    metrics = [{"epoch": t, "distortion": float("nan") if t == 3 else 1 / t, "curvatures": [-4.0]} for t in range(1, 9)]
    summary = {"graph": "g", "distortion": float("nan"), "edge_unit": 2.0, "curvatures": [-1.0]}
    run = save_run(tmp_path / "run", embedded(tree_vectors(5), [2], [-1.0], tree_edges(5)), summary, metrics)
    distortion, curvature = json.loads(Tags(written(run, tmp_path)).data)["curves"]
    assert distortion["series"][0]["values"][1:4] == [0.5, None, 0.25]
    assert distortion["log"]
    assert curvature["series"][0]["values"] == [-1.0] * 8


@pytest.mark.parametrize("nodes", [1, 2])
def test_tiny_graphs(tmp_path, nodes):
    run = save_run(tmp_path / "run", embedded(tree_vectors(nodes), [2], [-1.0], tree_edges(nodes)))
    assert json.loads(Tags(written(run, tmp_path)).data)["view"]["shown"] == nodes


def test_words():
    assert number(-0.0867731) == "−0.08677"
    assert number(1e-7) == "1.000e−07"
    assert number(float("inf")) == number(None) == "–"


def test_a_summary_in_words(tmp_path):
    run = classified_run(tmp_path / "papers")
    assert "80.0 % of the test nodes" in sentences(run)
    assert "2 runs" in sentences(run)
    assert [fact.label for fact in facts(run)][:3] == ["Test accuracy", "95 % interval", "Macro F1"]
    assert "average distortion of 0.1" in sentences(tree_run(tmp_path / "tree"))


def test_unknown_numbers_are_shown_too(tmp_path):
    run = tree_run(tmp_path / "tree")
    run.summary["strange_thing"] = [1, 2.5, None]
    assert ("Strange thing", "1, 2.5, –") in [fact[:2] for fact in facts(run)]


def test_a_classifier_that_was_not_tested(tmp_path):
    run = classified_run(tmp_path / "papers")
    run.summary.update(accuracy=None, interval=None, macro_f1=None)
    assert "no nodes were set aside" in written(run, tmp_path)


def flip(folder):
    """A byte amid the compressed points."""
    path = folder / "embedding.npz"
    bits = bytearray(path.read_bytes())
    bits[300] ^= 255
    path.write_bytes(bytes(bits))


def spoil(name, content):
    return lambda folder: (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    "spoiled",
    [
        spoil("embedding.npz", b"PK\x03\x04 nonsense"),
        spoil("embedding.npz", b""),
        spoil("summary.json", b"{"),
        spoil("metrics.jsonl", b"{}\n{"),
        spoil("metrics.jsonl", b"1\n2\n"),
        lambda folder: (folder / "embedding.npz").unlink(),
        flip,
    ],
)
def test_spoiled_files_are_refused_in_one_line(tmp_path, spoiled):
    run = tree_run(tmp_path / "tree")
    spoiled(run.path)
    with pytest.raises(CheckpointError) as refused:
        write_report(SavedRun(run.path), tmp_path / "report.html")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tangent": np.full((5, 2), np.nan)}, "finite points"),
        ({"curvatures": np.array([np.inf])}, "finite points"),
        ({"labels": np.full(5, 7), "class_names": np.array(["a"])}, "class name"),
        ({"parts": np.full(5, 9)}, "parts"),
        ({"ratio_edges": np.arange(3.0), "ratio_counts": np.arange(5)}, "border"),
        ({"edges": np.array([[0.0, 1.0]])}, "whole numbers"),
    ],
)
def test_impossible_contents_are_refused(tmp_path, change, words):
    told = embedded(tree_vectors(5), [2], [-1.0], tree_edges(5))
    run = save_run(tmp_path / "run", type(told)(**(vars(told) | change)))
    with pytest.raises(CheckpointError, match=words):
        write_report(run, tmp_path / "report.html")


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be written"):
        write_report(tree_run(tmp_path / "tree"), tmp_path / "file" / "report.html")
