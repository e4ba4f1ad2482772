"""Tables from records."""

from kappagcn.paper import DATASETS, ROWS, Cell, cells
from kappagcn.paper import accuracy_table as accuracy_table_of
from kappagcn.paper import curvature_table as curvature_table_of
from kappagcn.paper.cells import CURVED
from kappagcn.paper.tables import paper

EVERY = cells()


def fake(cell):
    kappas = [[-1.0, 2.0], [-2.0, 4.0]] if cell.row == "prod" else [[0.5], [0.7]]
    return [{"test": {"accuracy": a}, "curvatures": k} for a, k in zip((0.8, 0.9), kappas, strict=True)] + [
        {"failed": "diverged"}
    ]


def test_tables_have_ours_and_the_papers():
    table = accuracy_table_of({cell: fake(cell) for cell in EVERY})
    assert table.columns == ["", "Citeseer", "Cora-ML", "Pubmed", "Airport"]
    assert [row[0] for row in table.rows] == list(ROWS.values())
    assert table.rows[0][1] == "0.850 ± 0.050, 1 of 3 runs diverged (paper 0.729 ± 0.005)"
    curves = curvature_table_of({cell: fake(cell) for cell in EVERY})
    assert [row[0] for row in curves.rows] == [ROWS[row] for row in CURVED]
    assert curves.rows[2][1] == "−1.500 ± 0.500, 3.000 ± 1.000 (paper 1.21 ± 0.09, −0.64 ± 0.07)"
    none = accuracy_table_of({Cell("airport", "S16"): []})
    assert none.rows == [["S16 (κ-GCN)", "no runs (paper 0.809 ± 0.006)"]]
    assert none.columns == ["", "Airport"]


def test_the_papers_best_are_those_it_prints_in_bold():
    best = {d: max(paper()["accuracy"], key=lambda row: paper()["accuracy"][row][d][0]) for d in DATASETS}
    assert best == {"citeseer": "H16", "cora_ml": "S16", "pubmed": "hgcn", "airport": "hgcn"}
