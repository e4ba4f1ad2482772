"""Where files are: a test file for each module, and the tables of CONTRIBUTING that name all modules."""

import re
from pathlib import Path

import pytest

import kappagcn

PACKAGE = Path(kappagcn.__file__).parent
ROOT = Path(__file__).parent.parent
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if path.name[0] != "_")
LONGEST = 350
# Modules that are tested where they are used, because they are data, constants or parts of one operation.
TESTED_WITH = {
    "demo.py": "cli/test_demo.py",
    "objectives.py": "training/test_pair_objectives.py",
    "cli/predict_links.py": "cli/test_predict.py",
    "estimators/embedding_run.py": "estimators/test_embedder.py",
    "figures/space.py": "figures/test_embedding.py",
    "geometry/difference.py": "geometry/test_stereographic.py",
    "kernels/blocks.py": "kernels/test_rows.py",
    "distributed/halo_file_exchange.py": "training/test_part_fitting.py",
    "kernels/intrinsics.py": "training/test_pair_objectives.py",
    "kernels/lifts.py": "kernels/test_rows.py",
    "kernels/listed_distances.py": "nn/test_pair_distances.py",
    "kernels/pair_distances.py": "training/test_pair_objectives.py",
    "kernels/pair_limits.py": "training/test_pair_objectives.py",
    "kernels/pairs.py": "training/test_pair_objectives.py",
    "kernels/point_blocks.py": "training/test_pair_objectives.py",
    "kernels/point_pairs.py": "kernels/test_dispatch.py",
    "kernels/ranks.py": "training/test_ranking.py",
    "kernels/row_functions.py": "kernels/test_rows.py",
    "paper/histograms.py": "paper/figures/test_histograms.py",
    "paper/table1.py": "paper/test_embeddings.py",
    "paper/figures/catalogue.py": "paper/figures/test_paper_figures.py",
    "paper/figures/geodesics.py": "paper/figures/test_paper_figures.py",
    "paper/figures/heatmaps.py": "paper/figures/test_paper_figures.py",
    "paper/figures/midpoints.py": "paper/figures/test_paper_figures.py",
    "paper/figures/paths.py": "paper/figures/test_paper_figures.py",
    "paper/figures/records.py": "paper/figures/test_paper_figures.py",
    "paper/figures/trees.py": "paper/figures/test_paper_figures.py",
    "report/film_view.py": "report/test_browser_film.py",
    "training/node_columns.py": "estimators/test_embedding_arrays.py",
    "training/part_tasks.py": "training/test_part_fitting.py",
}


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_test_file_of_its_name(module):
    folder, name = Path(module).parent, Path(module).name
    other = ROOT / "tests" / TESTED_WITH.get(module, "none")
    assert (ROOT / "tests" / folder / f"test_{name}").exists() or other.exists()


def test_no_module_is_too_long():
    lengths = {path: len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert not {path: length for path, length in lengths.items() if length > LONGEST}


def layout_sections() -> dict[str, str]:
    """The text of CONTRIBUTING about each folder of the package, "" for the package itself."""
    text = CONTRIBUTING.read_text()
    layout = text[text.index("## How the code is laid out") : text.index("Where a change belongs:")]
    return dict(re.findall(r"`src/kappagcn/?([\w/]*)`(.*?)(?=`src/kappagcn|\Z)", layout, re.DOTALL))


def test_contributing_names_every_module_in_the_section_of_its_folder():
    named = {
        (Path(folder) / name).as_posix()
        for folder, section in layout_sections().items()
        for name in re.findall(r"`([\w/]+\.py)`", section)
    }
    assert named <= set(MODULES)
    folders = {"cli", "drawing", "figures", "graphs/measures", "paper/figures", "report", "testing"}
    assert {module for module in set(MODULES) - named if Path(module).parent.as_posix() not in folders} == set()


def test_no_table_of_contributing_names_a_module_twice():
    for folder, section in layout_sections().items():
        rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        names = re.findall(r"`([\w/]+\.py)`", " ".join(rows))
        assert len(names) == len(set(names)), folder
