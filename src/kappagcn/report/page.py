"""The page itself: a template, a style, scripts and data put into one file."""

from __future__ import annotations

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
from kappagcn.report.readable import demand_readable
from kappagcn.report.tables import confusion_table, facts_list, records_table
from kappagcn.report.words import facts, sentences, space_name
from kappagcn.run_folder import SavedRun

__all__ = ["page", "write_report"]

SCRIPTS = ("marks.js", "disk.js", "sphere.js", "plane.js", "camera.js", "canvas.js", "pointer.js", "panel.js")
CHARTS = ("charts.js", "main.js")
LEADING = 5  # facts that are shown large


def write_report(run: SavedRun, path: Path) -> Path:
    """Write a run's page to `path`; it appears whole or not at all.

    Args:
        run: A finished run.
        path: The file, by custom ``report.html``.

    Raises:
        CheckpointError: The run's files cannot be read, or the page cannot be written.
    """
    text = page(run)
    try:
        with atomic_write(path) as file:
            file.write(text.encode("utf-8", errors="replace"))  # half a surrogate pair is no character
    except OSError as problem:
        raise CheckpointError(f"{path}: cannot be written ({problem.strerror}).") from None
    return path


def page(run: SavedRun) -> str:
    """The text of the page."""
    demand_readable(run)
    told = facts(run)
    style = _asset("page.css")
    script = "\n".join(['"use strict";', *(_asset(name) for name in (*SCRIPTS, *CHARTS))])
    script = f"(() => {{\n{script}\n}})();"
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
        leading=facts_list(told[:LEADING]),
        facts=facts_list(told),
        records=records_table(run),
        confusion=confusion_table(run),
        version=escape(kappagcn.__version__),
        folder=escape(run.path.resolve().name),
    )


def _asset(name: str) -> str:
    return (files("kappagcn.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """By which the page's own policy knows its style and script: nothing else runs."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: dict[str, Any]) -> str:
    """JSON that no name can end early."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
