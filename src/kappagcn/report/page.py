"""The page itself: a template, a style, scripts and data put into one file."""

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import kappagcn
from kappagcn.errors import CheckpointError
from kappagcn.io_atomic import atomic_write
from kappagcn.report.content import content
from kappagcn.report.evidence import choice_section, intervals_section
from kappagcn.report.readable import check_readable
from kappagcn.report.tables import confusion_table, facts_list, records_table
from kappagcn.report.words import facts, sentences, space_name
from kappagcn.run_folder import SavedRun

SCRIPTS = (
    *("data", "marks", "projection", "graph", "camera", "disk", "sphere", "plane", "raster", "svg"),
    *("state", "overlay", "view", "pointer", "search", "legend", "lists", "panel", "film", "saving", "address"),
    *("charts", "main"),
)
LEADING = 5  # facts that are shown large


def write_report(run: SavedRun, path: Path) -> Path:
    """Write the page of a finished run, completely or not at all.

    Raises:
        CheckpointError: The run's files cannot be read, or the page cannot be written.
    """
    text = page(run)
    try:
        with atomic_write(path) as file:
            file.write(text.encode("utf-8", errors="replace"))  # half a surrogate pair is no character
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written ({error.strerror}).") from None
    return path


def page(run: SavedRun) -> str:
    """The text of the page."""
    check_readable(run)
    numbers = facts(run)
    style = _asset("page.css")
    script = "\n".join(["(() => {", '"use strict";', *(_asset(f"{name}.js") for name in SCRIPTS), "})();"])
    return Template(_asset("page.html")).substitute(
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=_embedded(content(run)),
        graph=escape(run.graph),
        space=escape(space_name(run)),
        kind="Node classification" if run.kind == "classification" else "Embedding",
        sentences=escape(sentences(run)),
        leading=facts_list(numbers[:LEADING]),
        facts=facts_list(numbers),
        records=records_table(run),
        confusion=confusion_table(run),
        choice=choice_section(run),
        intervals=intervals_section(run),
        version=escape(kappagcn.__version__),
        folder=escape(run.path.resolve().name),
    )


def _asset(name: str) -> str:
    return (files("kappagcn.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which the page's policy allows its style and script, and nothing else."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: dict[str, Any]) -> str:
    """JSON in which no name can end the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
