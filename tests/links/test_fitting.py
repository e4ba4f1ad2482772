"""`fit_links`: killed runs resume to the same bits, and other runs are refused."""

import json
import signal

import pytest
import torch

import link_worker
from kappagcn.errors import CheckpointError
from workers import Worker


@pytest.mark.parametrize("mode", ["whole", "batches"])
def test_a_killed_run_resumes_to_the_same_bits(mode, tmp_path):
    _, _, code = Worker(link_worker.run, tmp_path / "killed", 8, 5, mode).ended()
    assert code == -signal.SIGKILL
    resumed, result = link_worker.run(tmp_path / "killed", 8, None, mode)
    straight, expected = link_worker.run(tmp_path / "straight", 8, None, mode)
    assert 0 < result.resumed_after < 8
    assert result.history == expected.history
    for one, other in zip(resumed.state_dict().values(), straight.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    lines = (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == expected.history


def test_a_run_with_other_settings_is_not_resumed(tmp_path):
    link_worker.run(tmp_path / "run", 2, None, "whole")
    with pytest.raises(CheckpointError, match="folds 1 instead of 3"):
        link_worker.run(tmp_path / "run", 2, None, "batches")
