"""What the site needs beyond its pages: links that leave docs/, pictures in two themes, doctests, tables of settings.

Links such as ``../results`` work in the repository; the site has no such files, so there they become the path in words,
or, where ``repo_url`` is set, a link to it.
"""

import inspect
import re
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any

import griffe

from kappagcn import estimators
from kappagcn.estimators import settings as settings_module
from kappagcn.estimators.settings import settings_table

OUTSIDE = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<path>(?:\.\./)+[^)#\s]+)\)")
DOCTEST = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?! *\n| *$).*)*", re.MULTILINE)
PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="(?P<dark>[^"]+)">\s*<img src="(?P<light>[^"]+)" (?P<rest>[^>]*)>\s*</picture>'
)
SETTINGS = re.compile(r"<!-- settings: (?P<task>\w+) -->")
ESTIMATORS = ("GraphEmbedder", "KappaGCNClassifier", "KappaGCNLinkPredictor")
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
        return f"`{path}`" if link["text"].strip("`/") == path else f"{link['text']} (`{path}`)"

    themes = r'<img src="\g<light>#only-light" \g<rest>><img src="\g<dark>#only-dark" \g<rest>>'
    return with_settings(PICTURE.sub(themes, OUTSIDE.sub(told, markdown)))


def with_settings(markdown: str) -> str:
    """A page with the table of a task's settings in place of each marker."""
    kinds = {name.lower(): name for name in dir(settings_module) if name.endswith("Settings")}
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
