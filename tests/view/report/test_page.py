import json
import re

import numpy as np
import pytest

from kappagcn.errors import CheckpointError
from kappagcn.view.report import write_report
from report_runs import HOSTILE, Tags, classified_run, embedded, save_run, tree_edges, tree_run, tree_vectors, written

NAMES = [HOSTILE, "\"'`&amp;<!--", "名前 \u2028 \U0001f600 \u202e", "x" * 5000, "\ud800", "<b>&lt;", "--></style>", ""]


def test_a_run_of_each_kind_is_one_page_with_its_data(tmp_path):
    tree = Tags(written(tree_run(tmp_path / "tree"), tmp_path))
    view = json.loads(tree.data)["view"]
    assert (view["shown"], view["runs"][0]["factors"][0]["k"], view["central"]) == (121, -1, "0")
    papers = written(classified_run(tmp_path / "papers"), tmp_path)
    view = json.loads(Tags(papers).data)["view"]
    assert [factor["k"] for factor in view["runs"][0]["factors"]] == [-0.8, 0.3]
    assert "Recall" in papers
    assert "All 2 runs" in papers
    assert "80.0 %" in papers


def test_hostile_names_are_only_text(tmp_path):
    names = NAMES + [f"n{i}" for i in range(13 - len(NAMES))]
    more = {"labels": np.arange(13) % 2, "class_names": np.array([HOSTILE, "b"])}
    arrays = embedded(tree_vectors(13), [2], [-1.0], tree_edges(13), names=np.array(names), **more)
    summary = {"graph": HOSTILE, "space": HOSTILE, "distortion": 0.1, HOSTILE: HOSTILE, "more": {HOSTILE: 1}}
    text = written(save_run(tmp_path / "<b>run", arrays, summary), tmp_path)
    tags = Tags(text)
    assert not [tag for tag, _ in tags.tags if tag == "img"]
    assert HOSTILE not in text
    assert json.loads(tags.data)["view"]["names"][0] == HOSTILE
    assert json.loads(tags.data)["view"]["names"][:4] == NAMES[:4]
    assert HOSTILE in tags.title
    assert [dict(attrs) for tag, attrs in tags.tags if tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
    ]


def test_nothing_is_fetched(tmp_path):
    text = written(classified_run(tmp_path / "papers"), tmp_path)
    tags = Tags(text).tags
    assert not [attrs for _, attrs in tags if {"src", "href", "srcset", "action"} & set(attrs)]
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}  # a namespace
    policy = next(attrs["content"] for tag, attrs in tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_the_page_names_the_folder_and_not_the_path(tmp_path):
    run = tree_run(tmp_path / "private" / "my-run")
    text = written(run, tmp_path)
    assert "my-run" in text
    assert str(tmp_path) not in text


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be written"):
        write_report(tree_run(tmp_path / "tree"), tmp_path / "file" / "report.html")
