"""What the site needs beyond its pages: links that leave docs/, pictures in two themes, doctests, tables from code.

Links such as ``../results`` work in the repository; the site has no such files, so there they become the path in words,
or, where ``repo_url`` is set, a link to it.
"""

import inspect
import re
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import griffe

from kappagcn import estimators
from kappagcn.graphs.io.formats import formats_table
from kappagcn.training.setting_field import settings_table

sys.path.insert(0, str(Path(__file__).parent))
from mkdocs_math import with_mathml

OUTSIDE = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<path>(?:\.\./)+[^)#\s]+)\)")
DOCTEST = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?! *\n| *$).*)*", re.MULTILINE)
PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="(?P<dark>[^"]+)">\s*<img src="(?P<light>[^"]+)" (?P<rest>[^>]*)>\s*</picture>'
)
TABLE_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
SETTINGS = re.compile(r"<!-- settings: (?P<task>\w+) -->")
ESTIMATORS = ("GraphEmbedder", "KappaGCNClassifier", "KappaGCNLinkPredictor")
FORMULAS = ("mathematics.md",)
GALLERY_LINK = re.compile(r'<a href="(?P<page>(?:\.\./)*gallery/[^"]+)">(?P<inside>.*?)</a>', re.DOTALL)
ROLE = re.compile(r":(?:func|class|mod|meth):(?=`)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Links to files outside docs/, which the site does not have, in words; pictures by the page's own palette."""
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
    if page.file.src_uri in FORMULAS:
        markdown = with_mathml(markdown)
    markdown = TABLE_ROW.sub(
        lambda row: row[0].replace(" ± ", "\u00a0±\u00a0").replace("(paper ", "(paper\u00a0"), markdown
    )
    themes = r'<img src="\g<light>#only-light" \g<rest>><img src="\g<dark>#only-dark" \g<rest>>'
    markdown = markdown.replace("<!-- formats -->", formats_table())
    return with_settings(PICTURE.sub(themes, OUTSIDE.sub(told, markdown)))


def without_missing_pages(markdown: str, folder: PurePosixPath, docs: Path) -> str:
    """A page whose links to pages of the gallery that `make gallery` has not made are only what they show."""
    return GALLERY_LINK.sub(
        lambda link: link[0] if (docs / folder / link["page"]).is_file() else link["inside"], markdown
    )


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
