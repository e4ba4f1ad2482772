"""`kappagcn plot` and `kappagcn report`: a saved run as pictures, and as one page."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import AsJson
from kappagcn.cli.output import make_folder

Run = Annotated[Path, typer.Argument(help="Run directory of kappagcn embed, classify or link.")]
Runs = Annotated[list[Path], typer.Argument(help="Run directory; several on the same graph are compared.")]


Theme = StrEnum("Theme", ["light", "dark", "both"])
Format = StrEnum("Format", ["png", "svg", "both"])
FilmFormat = StrEnum("FilmFormat", ["gif", "webp"])


def _chosen(choice: StrEnum) -> list[str]:
    return [each.value for each in type(choice) if each != "both"] if choice == "both" else [choice.value]


@command("kappagcn plot karate-run --theme dark")
def plot(
    run: Run,
    theme: Annotated[Theme, typer.Option(help="Background.")] = Theme.light,
    form: Annotated[Format, typer.Option("--format", help="Format of the files.")] = Format.png,
    film: Annotated[
        FilmFormat | None, typer.Option(help="Write training as an animation instead, gif or webp.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the pictures; RUN/figures by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a run, or its training as an animation; training, curvatures, the embedding, distortion or confusion."""
    from kappagcn.run_folder import SavedRun
    from kappagcn.view.figures.catalogue import draw_run
    from kappagcn.view.figures.film import draw_film

    saved = SavedRun(run)
    folder = make_folder(run / "figures" if out is None else out)
    if film is None:
        paths = draw_run(saved, folder, _chosen(theme), _chosen(form))
    else:
        paths = [draw_film(saved, folder / f"film-{each}.{film.value}", theme=each) for each in _chosen(theme)]
    if as_json:
        print(json.dumps({"run": str(run), "files": [str(path) for path in paths]}))
    else:
        print("\n".join(str(path) for path in paths))


@command("kappagcn report karate-run")
def report(
    runs: Runs,
    out: Annotated[Path | None, typer.Option(help="Folder for the page; the first RUN by default.")] = None,
    intervals: Annotated[
        bool,
        typer.Option("--intervals", help="Compute intervals of an embedding's curvatures, kept in RUN."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write one page about a run, or one that compares up to four runs; it opens in any browser, without a network."""
    from kappagcn.run_folder import SavedRun
    from kappagcn.view.report import write_comparison, write_report

    if intervals:
        from kappagcn.embedding.curvature_profile import add_intervals

        for run in runs:
            add_intervals(run)
    saved = [SavedRun(run) for run in runs]
    folder = make_folder(runs[0] if out is None else out)
    if len(saved) == 1:
        path = write_report(saved[0], folder / "report.html")
    else:
        path = write_comparison(saved, folder / "comparison.html")
    if as_json:
        print(json.dumps({"run": str(runs[0]), "runs": [str(run) for run in runs], "report": str(path)}))
    else:
        print(path)
