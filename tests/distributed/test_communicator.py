"""Processes share work if, and only if, they are given a group."""

import copy
import json

import pytest
import torch

import group_worker
import workers
from kappagcn.distributed import Communicator
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.errors import ConfigError
from kappagcn.graphs import torus


def outcomes(case, world_size, folder):
    """What each process printed; the others may wait for rank 0 to be over."""
    over = workers.CONTEXT.Event()
    first, *others = (
        workers.Worker(group_worker.main, case, rank, world_size, folder, over) for rank in range(world_size)
    )
    try:
        results = [first.ended()]
        over.set()
        results += [process.ended() for process in others]
    finally:
        for process in (first, *others):
            process.kill()
    for _, complaints, code in results:
        assert code == 0, complaints[-3000:]
    return [json.loads(out.splitlines()[-1]) for out, _, _ in results]


@pytest.fixture(scope="module")
def alone():
    """The same fits in a process without a process group."""
    return group_worker.histories()


def compare(ours, alone, rel):
    for name, history in ours.items():
        for record, expected in zip(history, alone[name], strict=True):
            assert record.keys() == expected.keys()
            for key, value in expected.items():
                assert record[key] == pytest.approx(value, rel=rel, abs=rel), (name, key)


def test_one_rank_of_a_job_fits_without_the_others(alone, tmp_path):
    ours, nothing = outcomes("unshared", 2, tmp_path)
    assert ours.keys() == alone.keys() == {"batches", "whole", "sampled pairs", "all pairs"}
    assert nothing == {}
    compare(ours, alone, 100 * torch.finfo(torch.float32).eps)


def test_a_group_that_is_passed_shares_the_work(alone, tmp_path):
    outside, *members = outcomes("shared", 3, tmp_path)
    assert "expected a torch.distributed.ProcessGroup that this process is a member of" in outside.pop("refused")
    compare(outside, alone, 100 * torch.finfo(torch.float32).eps)
    first, second = (member.pop("collectives") for member in members)
    assert [first.pop("ranks"), second.pop("ranks")] == [[0, 2], [1, 2]]
    assert [first.pop("all_to_all"), second.pop("all_to_all")] == [[0, 10, 11], [1]]
    assert first == second
    assert first == {
        "broadcast": [1.0, 1.0],
        "all_reduce": [3.0, 3.0],
        "all_reduce_sum": [0.2, 1.0],
        "any_rank": [True, False],
        "run_on_rank0": ["rank 0", "refused by rank 0"],
    }
    assert members[0] == members[1]
    sampled = members[0].pop("sampled pairs")  # other sources than in one process are drawn
    assert len(sampled) == group_worker.EPOCHS
    compare(members[0], alone, 1e-4)


def test_a_single_process_is_the_default():
    communicator = Communicator.of(None)
    received = torch.empty(2)
    communicator.all_to_all(received, torch.ones(2))
    assert received.tolist() == [1, 1]
    assert communicator.any_rank(True)
    assert not communicator.any_rank(False)
    assert communicator.all_reduce_sum(torch.tensor(2.0, requires_grad=True), 0.1) == [2.0, 0.1]
    assert copy.deepcopy(communicator) is communicator


@pytest.mark.parametrize("group", ["world", 2, object()])
def test_what_is_no_group_is_refused(group):
    with pytest.raises(ConfigError, match=r"group: expected a torch\.distributed\.ProcessGroup"):
        GraphEmbedder("H2", verbose=False).fit(torus(20), group=group)
