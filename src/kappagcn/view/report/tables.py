"""Tables of the page, as escaped HTML."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from kappagcn.run_folder import Array, SavedRun
from kappagcn.view.class_names import short_names
from kappagcn.view.report.words import Fact, number, percent

SHADES = 9
LONGEST, UPRIGHT, ROOM = 40, 4, 20  # most letters of a class name; of an unrotated one; of all in one line
COLUMNS = {
    "split_name": "Split",
    "run": "Run",
    "accuracy": "Test accuracy",
    "macro_f1": "Macro F1",
    "stopping_accuracy": "Early-stopping accuracy",
    "epochs": "Epochs",
    "seconds": "Seconds",
}
SHARES = ("accuracy", "macro_f1", "stopping_accuracy")  # columns in per cent
BASELINES = {
    "majority": "most common class",
    "propagation": "label propagation",
    "features": "MLP on features alone",
    "gcn": "GCN",
    "unweighted": "GCN without weights",
}
MEASURES = {"accuracy": "Accuracy", "balanced_accuracy": "Balanced accuracy", "macro_f1": "Macro F1", "auc": "AUC"}


def facts_list(facts: Sequence[Fact]) -> str:
    """Names, numbers and their meaning."""
    return "\n".join(
        f"<div><dt>{escape(fact.label)}</dt><dd>{escape(fact.value)}<small>{escape(fact.meaning)}</small></dd></div>"
        for fact in facts
    )


def confusion_table(run: SavedRun) -> str:
    """Test nodes by true and predicted class, with each class's recall; empty without test nodes."""
    counts = run.confusion()
    if counts is None or not counts.sum() or run.embedded.class_names is None:
        return ""
    names = [escape(name) for name in short_names(run.embedded.class_names, LONGEST)]
    # Rotated names keep columns narrow; short names are easier to read horizontally.
    turned = ' class="turned"' if max(map(len, names)) > UPRIGHT and sum(map(len, names)) > ROOM else ""
    head = "".join(f'<th scope="col" title="{name}"><span{turned}>{name}</span></th>' for name in names)
    rows = "\n".join(_row(name, row, place) for place, (name, row) in enumerate(zip(names, counts, strict=True)))
    return (
        '<section class="card" id="confusion"><h2>Which classes are mistaken for which</h2>'
        "<p class='note'>Test nodes of the run shown: a row for each true class, a column for each predicted one. "
        "Recall is the share of a class that was found.</p>"
        '<div class="wide" tabindex="0" role="region" aria-label="Confusion matrix">'
        f'<table class="confusion"><thead><tr><th scope="col">True \\ predicted</th>{head}<th scope="col">Recall</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def baselines_table(run: SavedRun) -> str:
    """Test metrics of a classification beside those of its baselines; empty without baselines."""
    baselines = run.summary.get("baselines")
    if run.kind != "classification" or not isinstance(baselines, dict) or not baselines:
        return ""
    rows = {"this run": run.summary, **{BASELINES.get(str(name), str(name)): each for name, each in baselines.items()}}
    columns = [key for key in MEASURES if all(key in row for row in rows.values())]
    best = {key: max((row[key] for row in rows.values() if row[key] is not None), default=None) for key in columns}
    head = "".join(f'<th scope="col">{MEASURES[key]}</th>' for key in columns)
    body = ""
    for name, row in rows.items():
        cells = "".join(
            f"<td><b>{percent(row[key])}</b></td>" if row[key] == best[key] else f"<td>{percent(row[key])}</td>"
            for key in columns
        )
        body += f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    return (
        '<section class="card" id="baselines"><h2>Beside simpler answers</h2>'
        f"<p class='note'>{escape(str(run.summary.get('verdict') or ''))} All on the same test nodes; bold is the best "
        'of its column.</p><div class="wide" tabindex="0" role="region" aria-label="Baselines"><table>'
        f'<thead><tr><th scope="col">Predicted by</th>{head}</tr></thead><tbody>{body}</tbody></table></div></section>'
    )


def _row(name: str, row: Array, place: int) -> str:
    total = max(int(row.sum()), 1)
    shades = np.ceil(SHADES * row / total).astype(int)
    cells = "".join(
        f'<td class="{"right" if column == place else "wrong"} shade{shade}">{number(int(count))}</td>'
        for column, (count, shade) in enumerate(zip(row, shades, strict=True))
    )
    recall = percent(row[place] / total) if row.sum() else "–"
    return f'<tr><th scope="row">{name}</th>{cells}<td class="recall">{recall}</td></tr>'


def records_table(run: SavedRun) -> str:
    """A row per run; empty for a single run."""
    records = run.summary.get("records")
    if not isinstance(records, list) or len(records) < 2 or not all(isinstance(each, dict) for each in records):
        return ""
    records = [{**record, **record.get("test", {})} for record in records]
    columns = [key for key in COLUMNS if any(key in record for record in records)]
    head = "".join(f'<th scope="col">{COLUMNS[key]}</th>' for key in columns)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{escape(_entry(key, record.get(key)))}</td>" for key in columns) + "</tr>"
        for record in records
    )
    return (
        f'<details class="card"><summary>All {len(records)} runs</summary><div class="wide">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _entry(key: str, value: Any) -> str:
    return percent(value) if key in SHARES else number(value)
