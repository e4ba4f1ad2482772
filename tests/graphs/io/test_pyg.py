import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn import graphs as G
from kappagcn.errors import GraphFileError
from kappagcn.graphs import cycle, read_graph, save_data
from spaces import few

EDGES = torch.tensor([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("more", "check"),
    [
        ({"x": torch.eye(3).to_sparse_coo()}, lambda d: d.x.to_dense().tolist() == torch.eye(3).tolist()),
        ({"x": torch.eye(3).requires_grad_()}, lambda d: not d.x.requires_grad),
        ({"x": torch.eye(3, dtype=torch.bfloat16)}, lambda d: d.x.dtype == torch.float32),
        ({"y": torch.tensor([[0], [1], [0]])}, lambda d: d.y.tolist() == [0, 1, 0]),
        ({"y": torch.tensor([0.0, 1.0, 0.0])}, lambda d: d.y.tolist() == [0, 1, 0]),
        ({"edge_weight": torch.tensor([[2.0], [3.0]])}, lambda d: d.edge_weight.tolist() == [2, 2, 3, 3]),
        ({"train_mask": torch.tensor([True, False, True])}, lambda d: d.train_mask.tolist() == [True, False, True]),
        ({"edge_attr": torch.ones(2, 4)}, lambda d: d.report.endswith("left out: edge_attr")),
        ({"name": torch.ones(2)}, lambda d: d.name == "g"),
    ],
)
def test_odd_but_plausible_torch_files(tmp_path, more, check):
    torch.save({"edge_index": EDGES, **more}, tmp_path / "g.pt")
    assert check(G.read_graph(tmp_path / "g.pt"))


@pytest.mark.parametrize(
    "more",
    [
        {"x": [[1.0]]},
        {"x": torch.tensor(1.0)},
        {"y": [0, 1, 0]},
        {"y": 3},
        {"y": torch.tensor([0.5, 1, 0])},
        {"edge_weight": [1.0, 2.0]},
        {"num_nodes": torch.tensor([3, 3])},
        {"num_nodes": "3"},
        {"num_nodes": -3},
        {"edge_index": EDGES.to_sparse_coo()},
        {"edge_index": EDGES.to(torch.complex64)},
        {"x": torch.ones(3, 2, dtype=torch.complex64)},
    ],
)
def test_impossible_torch_files(tmp_path, more):
    torch.save({"edge_index": EDGES, **more}, tmp_path / "g.pt")
    with pytest.raises(GraphFileError, match="expected"):
        G.read_graph(tmp_path / "g.pt")


def test_saving_makes_the_folder_and_leaves_no_part(tmp_path):
    path = G.save_data(G.cycle(4), tmp_path / "new" / "g.pt")
    assert G.read_graph(path).num_nodes == 4
    assert [p.name for p in path.parent.iterdir()] == ["g.pt"]


@pytest.mark.parametrize(
    "result",
    [
        {"x": torch.ones(3, 2)},
        {"edge_index": torch.zeros(3, 2, dtype=torch.long)},
        {"edge_index": torch.zeros(2, 2)},
        {"edge_index": torch.tensor([[0], [5]]), "num_nodes": 3},
        {"edge_index": torch.tensor([[0], [1]]), "x": torch.full((2, 1), torch.nan)},
        {"edge_index": torch.tensor([[0], [1]]), "y": torch.tensor([0, 9])},
    ],
)
def test_saved_dicts_that_are_no_graph(tmp_path, result):
    torch.save(result, tmp_path / "g.pt")
    with pytest.raises(GraphFileError, match="expected"):
        read_graph(tmp_path / "g.pt")


@few(40)
@given(st.data())
def test_damaged_torch_files(tmp_path_factory, draw):
    path = save_data(cycle(5), tmp_path_factory.mktemp("pt") / "g.pt")
    content = bytearray(path.read_bytes())
    content = content[: draw.draw(st.integers(0, len(content)))]
    for _ in range(draw.draw(st.integers(0, 3))):
        if content:
            content[draw.draw(st.integers(0, len(content) - 1))] = draw.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    try:
        read_graph(path)
    except GraphFileError as error:
        assert len(str(error).splitlines()) == 1
