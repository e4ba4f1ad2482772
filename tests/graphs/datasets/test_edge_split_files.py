"""Splits of edges in files: npz, CSV with parts, CSV with times, wrong files."""

import numpy as np
import pytest
import torch

from kappagcn.errors import SplitError
from kappagcn.graphs import classic, disease, edge_split, read_edge_split, save_edge_split


def test_a_saved_split_is_read_back(tmp_path):
    data = disease()
    split = edge_split(data, 2)
    same = read_edge_split(save_edge_split(split, tmp_path / "one.npz"), data)
    assert torch.equal(same.train, split.train)
    for one, other in zip((*split.validation, *split.final_test_pairs()), (*same.validation, *same._test), strict=True):
        assert torch.equal(one, other)


def test_parts_by_name_with_negatives_drawn(tmp_path):
    data = classic("florentine")
    file = tmp_path / "parts.csv"
    file.write_text(
        "source,target,part\nAcciaiuoli,Medici,train\nBarbadori,Medici,train\nCastellani,Peruzzi,val\n"
        "Peruzzi,Strozzi,test\n"
    )
    split = read_edge_split(file, data, seed=3)
    assert [split.train.shape[1], split.validation.edges.shape[1], split.final_test_pairs().others.shape[1]] == [
        2,
        1,
        1,
    ]
    file.write_text("Acciaiuoli,Medici,train\nBarbadori,Medici,validation\nPazzi,Medici,validation negatives\n")
    assert read_edge_split(file, data).validation.others.shape[1] == 1


def test_times(tmp_path):
    data = classic("karate")
    first, second = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    file = tmp_path / "times.txt"
    lines = (f"{a} {b} {time}" for time, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)))
    file.write_text("\n".join(lines))
    split = read_edge_split(file, data)
    assert split.name == "by time"
    assert split.final_test_pairs().edges[:, -1].tolist() == [int(first[-1]), int(second[-1])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n1,2\n", "expected a third column with the part or the time"),
        ("0,1,train\n1,99,test\n", "expected nodes of the graph, such as '0', found '99'"),
        ("0,1,train\n1,2,probe\n", "expected train, validation, test, .* found 'probe'"),
        ("0,1,train\n1,0,test\n", "train and test to differ"),
        ("", "expected pairs of nodes, one per line, found none"),
        ("0,1,2,3\n", "expected two nodes per line"),
    ],
)
def test_wrong_files_are_refused_in_one_line(tmp_path, text, message):
    file = tmp_path / "wrong.csv"
    file.write_text(text)
    with pytest.raises(SplitError, match=message):
        read_edge_split(file, classic("karate"))


def test_missing_files_and_arrays_are_refused(tmp_path):
    with pytest.raises(SplitError, match="none"):
        read_edge_split(tmp_path / "none.csv", disease())
    np.savez(tmp_path / "part.npz", train=np.zeros((2, 1), int))
    with pytest.raises(SplitError, match="found no validation"):
        read_edge_split(tmp_path / "part.npz", disease())
