"""The documentation site: it builds without a warning, loads nothing from elsewhere, and names everything public."""

import doctest
import importlib
import inspect
import os
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from jinja2 import UndefinedError

import pages
import pictures
import site_hooks
import tables
from workers import Worker, execute

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
WITH_EXAMPLES = ["geometry", "optim", "graphs", "nn", "models", "training", "estimators", "paper"]
DESCRIBED = [*WITH_EXAMPLES, "distributed", "errors", "testing"]


class Page(HTMLParser):
    """Anchors, links and what a browser would load of one page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        result = dict(attrs)
        self.anchors |= {result[name] for name in ("id", "name") if result.get(name)}
        if tag == "a" and result.get("href"):
            self.links.append(result["href"])
        if tag in ("script", "img", "source", "iframe") or (tag == "link" and result.get("rel") != "canonical"):
            self.loaded += [result[name] for name in ("src", "srcset", "href") if result.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="the site needs pip install 'kappagcn[docs]'")
    pytest.importorskip("material", reason="the site needs pip install 'kappagcn[docs]'")
    pytest.importorskip("mkdocstrings", reason="the site needs pip install 'kappagcn[docs]'")
    base = tmp_path_factory.getbasetemp()  # of this process; its parent is of this run where there are several
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + 300
        while not (folder / "built").exists() and time.monotonic() < deadline:
            time.sleep(0.2)
        assert (folder / "built").exists(), "another process could not build the site"
        return {path: Page(path) for path in folder.rglob("*.html")}
    arguments = ("build", "--no-strict", "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir", str(folder))
    build = "from mkdocs.__main__ import cli; cli()"
    printed, errors, code = Worker(execute, build, *arguments, environment={"NO_MKDOCS_2_WARNING": "1"}).ended()
    assert code == 0, printed + errors
    # With --quiet none of them would be shown, nor count for --strict. Griffe's are about parameters of __new__.
    assert not [line for line in errors.splitlines() if line.startswith("WARNING") and "griffe:" not in line]
    (folder / "built").touch()
    return {path: Page(path) for path in folder.rglob("*.html")}


def within(path, target):
    """The file of the site that a link leads to, and the place in it."""
    file, fragment = urldefrag(target)
    return (path.parent / unquote(file)).resolve() if file else path.resolve(), unquote(fragment)


def test_nothing_is_loaded_from_elsewhere(site):
    assert len(site) > 25
    for path, page in site.items():
        assert page.loaded or path.parent.name == "gallery", path  # reports are whole in themselves
        for target in page.loaded:
            assert not urlsplit(target).netloc, (path.name, target)
            if path.name != "404.html":
                assert within(path, target)[0].exists(), (path.name, target)
    for sheet in next(iter(site)).parent.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text()), sheet


def test_every_link_leads_somewhere(site):
    pages = {path.resolve(): page for path, page in site.items()}
    for path, page in site.items():
        if path.name == "404.html":
            continue
        for target in page.links:
            if urlsplit(target).scheme in ("http", "https"):
                continue
            file, fragment = within(path, target)
            assert file.exists(), (path.name, target)
            if fragment and file in pages:
                assert fragment in pages[file].anchors or fragment == "__skip", (path.name, target)


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_public_name_is_described(site, name):
    (path,) = (path for path in site if path.parts[-2:] == ("api", f"{name}.html"))
    module = importlib.import_module(f"kappagcn.{name}")
    for public in getattr(module, "__all__", [each for each in vars(module) if each.endswith(("Error", "Warning"))]):
        own, of_a_module_of_that_name = f"kappagcn.{name}.{public}", f"kappagcn.{name}.{public}.{public}"
        by_hand = f"<code>{public}</code>" in path.read_text() and not callable(getattr(module, public))
        assert {own, of_a_module_of_that_name} & site[path].anchors or by_hand, public


def test_no_markup_is_left_over(site):
    """Nothing of reStructuredText or of doctests outside code blocks is shown to a reader."""
    for path in site:
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", path.read_text(), flags=re.DOTALL)
        for mark in (":func:", ":class:", ":mod:", ":meth:", "&gt;&gt;&gt;", "<blockquote>"):
            assert mark not in text, (path.name, mark)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_every_public_name_has_an_example(name):
    """Errors and constants need none; everything that can be called does."""
    module = importlib.import_module(f"kappagcn.{name}")
    parser = doctest.DocTestParser()
    without = []
    for public in module.__all__:
        result = getattr(module, public)
        if not callable(result) or (inspect.isclass(result) and issubclass(result, BaseException)):
            continue
        assert result.__doc__, public
        if not parser.get_examples(inspect.getdoc(result)):
            without.append(public)
    assert without == []


def test_the_errata_name_tests_that_there_are():
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (DOCS / "errata.md").read_text())
    assert len(named) > 15
    for file, test in named:
        assert f"\ndef {test}(" in (ROOT / "tests" / file).read_text(), test


def test_links_work_in_the_repository_too():
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
        targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
        for target in targets:
            if not urlsplit(target).scheme and urldefrag(target)[0]:
                path = page.parent / urldefrag(target)[0]
                made = any(path.is_relative_to(DOCS / name) for name in ("images", "gallery"))  # by tools/pictures.py
                assert made or path.exists(), (page.name, target)


def test_every_page_is_filled_from_the_records():
    """A value that a page names and no record has is an error, as is a marker that nothing fills."""
    for page in DOCS.rglob("*.md"):
        text = pages.render(page.read_text(encoding="utf-8"))
        assert not re.search(r"\{\{|\{%|\bnan\b|None \|", text), page.name
    with pytest.raises(UndefinedError, match="secnds"):
        pages.render("{{ record('demo').secnds }}")
    with pytest.raises(FileNotFoundError):
        pages.render("{{ record('nonsense').results }}")


def test_the_readmes_tables_are_those_of_the_records():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("<!-- table: ") >= 3
    assert pages.refreshed(text) == text
    assert pages.refreshed(re.sub(r"(?m)^\| S10 .*\n", "", text)) == text, "a row that is missing comes back"


def span(values, digits=0):
    """The least and the largest of some numbers, as a sentence names them."""
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def test_the_numbers_in_the_readmes_sentences_are_those_of_the_records():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    trees = {}
    for r in pages.record("embedding_quality")["results"]:
        if r["part"] == "trees" and r["seed"] == 0:
            trees.setdefault(r["graph"], {})[r["space"]] = r["distortion"]
    gains = {graph: row["E10"] / row["H10"] for graph, row in trees.items() if {"E10", "H10"} <= row.keys()}
    branching = [gain for graph, gain in gains.items() if " tree, " in graph]
    ours = {r["case"]: r["seconds"] for r in pages.record("layers")["results"] if "own GCN" in r.get("seconds", {})}
    steps = [each[curved] / each["own GCN"] for each in ours.values() for curved in ("κ = −1", "κ = +1")]
    ratios = {True: [], False: []}
    for r in pages.record("geometry")["results"]:
        ratios[r["case"] in ("midpoint", "cdist")].append(r["ratio"])
    epochs = [r["ratio"] for r in pages.record("distortion")["results"] if r["who"] == "compiled"]
    paired = [tables.paired("curvature_pays", graph, "learned κ", "κ = 0") for graph in tables.GRAPHS]
    ahead, behind = ([e.mean for e in paired if s * e.mean > (e.interval or 0)] for s in (1, -1))
    for sentence in (
        f"have {span(branching)} times less distortion in ten hyperbolic dimensions",
        f"caterpillars only {span([gain for graph, gain in gains.items() if 'caterpillar' in graph], 1)} times less",
        f"beat κ = 0 on {('no', 'one', 'two', 'three')[len(ahead)]} of [fourteen graphs]",
        f"by {' and '.join(f'{gain:.3f}' for gain in sorted(ahead))}, and lost on one, by {-sum(behind):.3f}",
        f"{span(ratios[False], 1)} times as fast on single operations, {span(ratios[True])} times on all pairs",
        f"{span(epochs)} times for [an epoch of embedding a tree]",
        f"takes {ours['cora_ml']['κ = −1'] / ours['cora_ml']['PyG GCN']:.2f} of the time of one of PyG's GCN",
        f"with the same sparse features, it takes {span(steps, 1)} times as long",
    ):
        assert sentence in text
    assert len(paired) == 14
    assert len(behind) == 1


def test_formulas_are_mathml_outside_code():
    text = site_hooks.with_mathml("$\\kappa<0$ and `$HOME`, | $\\vert x\\vert$ |")
    assert text.count("<math") == 2
    assert "`$HOME`" in text
    assert text.count("|") == 2, "no bar of a formula ends a cell of a table"


def test_every_run_of_the_gallery_has_a_place_on_its_page():
    names = re.findall(r'<a href="gallery/(\w+)\.html">', (DOCS / "gallery.md").read_text())
    assert sorted(names) == sorted(pictures.RUNS)
    for page in (ROOT / "README.md", DOCS / "index.md"):
        assert "gallery.md" in page.read_text()


def test_the_gallery_shows_the_figures_that_can_be_drawn():
    pytest.importorskip("matplotlib", reason="figures need pip install 'kappagcn[figures]'")
    from kappagcn.paper.figures.catalogue import FIGURES

    text = " ".join((DOCS / "gallery.md").read_text().split())
    assert re.findall(r"`kappagcn reproduce figures (\w+)`", text) == list(FIGURES)
    for name, figure in FIGURES.items():
        assert figure.title in text, name
