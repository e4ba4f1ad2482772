"""How to repeat a run: the command, the call in Python, the seed, versions, and all settings."""

from collections.abc import Iterator
from html import escape
from typing import Any

from kappagcn.run_folder import SavedRun
from kappagcn.view.report.words import number

HIDDEN = ("data", "nodes")  # fingerprints of the graph


def repeating_section(run: SavedRun) -> str:
    """Commands, versions and settings of a run; empty where nothing was recorded."""
    summary, settings = run.summary, list(flattened(run.config))
    seed = next((value for name, value in settings if name.split(".")[-1] in ("random_state", "seed")), None)
    commands = [
        f"<h3>{title}</h3><pre><code>{escape(str(summary[key]))}</code></pre>"
        for key, title in (("command", "On the command line"), ("call", "In Python"))
        if summary.get(key)
    ]
    versions = summary.get("versions")
    facts = [("seed", seed)] if seed is not None else []
    facts += list(versions.items()) if isinstance(versions, dict) else []
    rows = "".join(f"<tr><th scope='row'>{escape(str(k))}</th><td>{escape(_plain(v))}</td></tr>" for k, v in settings)
    facts_html = "".join(f"<div><dt>{escape(str(k))}</dt><dd>{escape(str(v))}</dd></div>" for k, v in facts)
    if not (commands or facts or rows):
        return ""
    table = f"<h3>All settings</h3><div class='wide'><table><tbody>{rows}</tbody></table></div>" if rows else ""
    return (
        '<details class="card" id="repeat"><summary>How to repeat it</summary>'
        f'{"".join(commands)}<dl class="facts">{facts_html}</dl>{table}</details>'
    )


def flattened(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings of nested dictionaries by their path.

    >>> dict(flattened({"options": {"space": "H2"}, "runs": 1}))
    {'options.space': 'H2', 'runs': 1}
    """
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from flattened(value, f"{prefix}{name}.")
        elif name not in HIDDEN:
            yield f"{prefix}{name}", value


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(each) for each in value)
    return number(value) if isinstance(value, float) else str(value)
