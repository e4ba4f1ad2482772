"""The page: template, style sheet, scripts and data in one file."""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

import kappagcn
from kappagcn.errors import CheckpointError
from kappagcn.io_atomic import atomic_write
from kappagcn.run_folder import SavedRun
from kappagcn.view.report.comparison import check_comparable, comparison_content, comparison_table, run_names, verdict
from kappagcn.view.report.content import content
from kappagcn.view.report.evidence import interval_charts, intervals_note
from kappagcn.view.report.links import link_charts, link_sections
from kappagcn.view.report.readable import check_readable
from kappagcn.view.report.tables import baselines_table, choice_table, confusion_table, how_to_repeat, records_table
from kappagcn.view.report.words import facts, sentences, space_name

SCRIPTS = (
    *("data", "marks", "projection", "graph", "camera", "disk", "sphere", "plane", "raster", "svg"),
    *("state", "overlay", "view", "pointer", "search", "legend", "lists", "panel", "film", "saving", "address"),
    *("charts", "main"),
)
KINDS = {"classification": "Node classification", "links": "Link prediction", "embedding": "Embedding"}


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
    text = _rendered(
        comparison_content(runs),
        charts={},
        graph=runs[0].graph,
        joint=f"in {len(runs)} runs:",
        space=", ".join(names[:-1]) + f" and {names[-1]}",
        kind="Comparison",
        sentences=verdict(runs),
        comparison=comparison_table(runs),
        folder=", ".join(names),
    )
    return _write(path, text)


def page(run: SavedRun) -> str:
    """The text of the page."""
    check_readable(run)
    charts = {"intervals": interval_charts(run), "link-curves": link_charts(run)}
    return _rendered(
        content(run) | {"charts": charts},
        charts=charts,
        graph=run.graph,
        joint="in",
        space=space_name(run).replace("κ = ", "κ\u00a0=\u00a0"),
        kind=KINDS[run.kind],
        sentences=sentences(run),
        facts=facts(run),
        repeat=how_to_repeat(run),
        records=records_table(run),
        confusion=confusion_table(run),
        baselines=baselines_table(run),
        links=link_sections(run),
        choice=choice_table(run),
        intervals_note=intervals_note(run),
        folder=run.path.resolve().name,
    )


def _rendered(data: dict[str, Any], **values: Any) -> str:
    """The template with these values, all escaped; sections whose values are missing are left out."""
    style = _asset("page.css")
    script = "\n".join(["(() => {", '"use strict";', *(_asset(f"{name}.js") for name in SCRIPTS), "})();"])
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_asset("page.html")).render(
        **values,
        data=_json(data),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        version=kappagcn.__version__,
    )


def _write(path: Path, text: str) -> Path:
    try:
        with atomic_write(path) as file:
            file.write(text.encode("utf-8", errors="replace"))  # a lone surrogate is not a character
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written ({error.strerror}).") from None
    return path


def _asset(name: str) -> str:
    return (files("kappagcn.view.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which the page's policy allows its style and script, and nothing else."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(data: dict[str, Any]) -> Markup:
    """JSON whose text cannot end the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
