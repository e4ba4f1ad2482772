"""Which tensors go through compiled loops, and which through torch."""

import torch

from kappagcn.kernels.dispatch import runs_loops, torch_only


def test_tensors_on_the_cpu_go_through_compiled_loops():
    assert runs_loops(torch.ones(2), torch.ones(2, dtype=torch.float64))
    assert not runs_loops(torch.ones(2), torch.ones(2, dtype=torch.bfloat16))
    assert not runs_loops(torch.ones(2, device="meta"))
    with torch_only():
        assert not runs_loops(torch.ones(2))


def test_transforms_go_through_torch():
    seen = []
    torch.func.vmap(lambda x: seen.append(runs_loops(x)) or x)(torch.ones(2))
    assert seen == [False]
