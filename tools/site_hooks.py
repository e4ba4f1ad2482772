"""What the site needs beyond its pages: records, formulas, links that leave docs/, pictures in two themes, doctests.

Pages are templates (tools/pages.py), formulas between dollars become MathML, which browsers draw without a script or a
network. Links such as ``../records`` work in the repository; the site has no such files, so there they become the path
in words, or, where ``repo_url`` is set, a link to it.
"""

import inspect
import re
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import griffe
from latex2mathml.converter import convert

from kappagcn import estimators
from kappagcn.graphs.io.formats import formats_table
from kappagcn.training.setting_field import settings_table

sys.path.insert(0, str(Path(__file__).parent))
from pages import render

OUTSIDE = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<path>(?:\.\./)+[^)#\s]+)\)")
DOCTEST = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?! *\n| *$).*)*", re.MULTILINE)
PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="(?P<dark>[^"]+)">\s*<img src="(?P<light>[^"]+)" (?P<rest>[^>]*)>\s*</picture>'
)
TABLE_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
SETTINGS = re.compile(r"<!-- settings: (?P<task>\w+) -->")
ESTIMATORS = ("GraphEmbedder", "KappaGCNClassifier", "KappaGCNLinkPredictor")
FORMULA = re.compile(r"```.*?```|`[^`\n]*`|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\n]+)\$", re.DOTALL)
# How much a page counts in the search: pages for users before evidence and the reproduction of the paper.
BOOST = {"guides": 4.0, "reference": 2.0, "evidence": 0.5}
GALLERY_LINK = re.compile(r'<a href="(?P<page>(?:\.\./)*gallery/[^"]+)">(?P<inside>.*?)</a>', re.DOTALL)
IMAGE = re.compile(r"!\[(?P<words>[^\]]*)\]\((?P<path>[^)]+)\)")
ROLE = re.compile(r":(?:func|class|mod|meth):(?=`)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """A page with its records, formulas and pictures; links to files outside docs/, which the site lacks, in words."""
    section = page.ancestors[-1].title.lower() if page.ancestors else ""
    boost = 0.5 if page.file.src_uri == "api/paper.md" else BOOST.get(section, 1.0)
    page.meta.setdefault("search", {"boost": boost})
    markdown = with_mathml(render(markdown))
    folder = PurePosixPath("docs") / PurePosixPath(page.file.src_uri).parent

    def told(link: re.Match[str]) -> str:
        path = normpath(str(folder / link["path"]))
        if path.startswith("docs/"):
            return link[0]
        if config.repo_url:
            return f"[{link['text']}]({config.repo_url.rstrip('/')}/blob/HEAD/{path})"
        if link["text"].strip("`/") == path:
            return f"`{path}`"
        inside = link.string[link.start() - 1 : link.start()] == "("  # brackets in brackets are hard to read
        return f"{link['text']}: `{path}`" if inside else f"{link['text']} (`{path}`)"

    markdown = without_missing_pages(markdown, PurePosixPath(page.file.src_uri).parent, Path(config.docs_dir))
    markdown = TABLE_ROW.sub(
        lambda row: row[0].replace(" ± ", "\u00a0±\u00a0").replace("(paper ", "(paper\u00a0"), markdown
    )
    themes = r'<img src="\g<light>#only-light" \g<rest>><img src="\g<dark>#only-dark" \g<rest>>'
    markdown = markdown.replace("<!-- formats -->", formats_table())
    return with_settings(PICTURE.sub(themes, OUTSIDE.sub(told, markdown)))


def without_missing_pages(markdown: str, folder: PurePosixPath, docs: Path) -> str:
    """A page without the pictures and links to pages of the gallery that tools/pictures.py has not made."""

    def exists(path: str) -> bool:
        return (docs / folder / path).is_file()

    markdown = GALLERY_LINK.sub(lambda link: link[0] if exists(link["page"]) else link["inside"], markdown)
    markdown = PICTURE.sub(lambda picture: picture[0] if exists(picture["light"]) else "", markdown)
    return IMAGE.sub(lambda image: image[0] if exists(image["path"]) else image["words"], markdown)


def with_mathml(markdown: str) -> str:
    """A page whose formulas between dollars, outside code, are MathML."""

    def drawn(found: re.Match[str]) -> str:
        formula = found["block"] or found["inline"]
        if formula is None:
            return found[0]
        return convert(formula, display="block" if found["block"] else "inline").replace("|", "&#124;")

    return FORMULA.sub(drawn, markdown)


def with_settings(markdown: str) -> str:
    """A page with the table of a task's settings in place of each marker."""
    kinds = {name.lower(): name for name in estimators.__all__ if name.endswith("Settings")}
    return SETTINGS.sub(lambda mark: settings_table(getattr(estimators, kinds[f"{mark['task']}settings"])), markdown)


def fenced(docstring: str) -> str:
    """A docstring with its doctests as code blocks."""
    docstring = ROLE.sub("", docstring)
    return DOCTEST.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", docstring)


class Doctests(griffe.Extension):
    """Fences doctests: outside of a section called Examples they would be read as quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring is not None:
            if obj.name in ESTIMATORS:  # whose arguments are described when it is imported
                obj.docstring.value = inspect.getdoc(getattr(estimators, obj.name)) or obj.docstring.value
            obj.docstring.value = fenced(obj.docstring.value)
