"""The page: template, style sheet, scripts and data in one file."""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import kappagcn
from kappagcn.errors import CheckpointError
from kappagcn.io_atomic import atomic_write
from kappagcn.run_folder import SavedRun
from kappagcn.view.report.comparison import (
    check_comparable,
    comparison_content,
    comparison_table,
    run_names,
    verdict,
)
from kappagcn.view.report.content import content
from kappagcn.view.report.evidence import choice_section, intervals_section
from kappagcn.view.report.links import links_section
from kappagcn.view.report.readable import check_readable
from kappagcn.view.report.repeating import repeating_section
from kappagcn.view.report.tables import baselines_table, confusion_table, facts_list, records_table
from kappagcn.view.report.words import facts, sentences, space_name

SCRIPTS = (
    *("data", "marks", "projection", "graph", "camera", "disk", "sphere", "plane", "raster", "svg"),
    *("state", "overlay", "view", "pointer", "search", "legend", "lists", "panel", "film", "saving", "address"),
    *("charts", "main"),
)
KINDS = {"classification": "Node classification", "links": "Link prediction", "embedding": "Embedding"}
LEADING = 5  # facts that are shown large
SECTIONS = (
    "leading",
    "comparison",
    "choice",
    "links",
    "baselines",
    "confusion",
    "intervals",
    "facts",
    "records",
    "repeating",
)


def write_report(run: SavedRun, path: Path) -> Path:
    """Write the page of a finished run, completely or not at all.

    Raises:
        CheckpointError: The run's files cannot be read, or the page cannot be written.
    """
    return _write(path, page(run))


def write_comparison(runs: Sequence[SavedRun], path: Path) -> Path:
    """Write two to four runs on the same graph as one page, completely or not at all.

    Raises:
        CheckpointError: The runs cannot be read or are not of the same graph, or the page cannot be written.
    """
    for run in runs:
        check_readable(run)
    check_comparable(runs)
    names = run_names(runs)
    text = _filled(
        data=_embedded(comparison_content(runs)),
        graph=escape(runs[0].graph),
        joint=f"in {len(runs)} runs:",
        space=escape(", ".join(names[:-1]) + f" and {names[-1]}"),
        kind="Comparison",
        sentences=escape(verdict(runs)),
        comparison=comparison_table(runs),
        runs="runs",
        folder=escape(", ".join(names)),
    )
    return _write(path, text)


def _write(path: Path, text: str) -> Path:
    try:
        with atomic_write(path) as file:
            file.write(text.encode("utf-8", errors="replace"))  # a lone surrogate is not a character
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written ({error.strerror}).") from None
    return path


def _filled(**values: str) -> str:
    """The template with these values; sections that a page does not have are empty."""
    style = _asset("page.css")
    script = "\n".join(["(() => {", '"use strict";', *(_asset(f"{name}.js") for name in SCRIPTS), "})();"])
    hashes = {"style_hash": _hash(style), "script_hash": _hash(script), "version": escape(kappagcn.__version__)}
    empty = dict.fromkeys(SECTIONS, "")
    return Template(_asset("page.html")).substitute(empty | values | hashes, style=style, script=script)


def page(run: SavedRun) -> str:
    """The text of the page."""
    check_readable(run)
    numbers = facts(run)
    return _filled(
        data=_embedded(content(run)),
        graph=escape(run.graph),
        joint="in",
        space=escape(space_name(run)).replace("κ = ", "κ\u00a0=\u00a0"),
        kind=KINDS[run.kind],
        sentences=escape(sentences(run)),
        leading=f'<dl class="leading">{facts_list(numbers[:LEADING])}</dl>',
        facts=_details("All numbers of this run", f'<dl class="facts">{facts_list(numbers)}</dl>'),
        repeating=repeating_section(run),
        records=records_table(run),
        confusion=confusion_table(run),
        baselines=baselines_table(run),
        links=links_section(run),
        choice=choice_section(run),
        intervals=intervals_section(run),
        runs="run",
        folder=escape(run.path.resolve().name),
    )


def _details(title: str, inside: str) -> str:
    return f'<details class="card"><summary>{title}</summary>{inside}</details>'


def _asset(name: str) -> str:
    return (files("kappagcn.view.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which the page's policy allows its style and script, and nothing else."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: dict[str, Any]) -> str:
    """JSON whose text cannot end the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
