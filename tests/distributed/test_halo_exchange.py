"""The halo exchange: rows of other ranks come in, and their gradients go back."""

import torch

from kappagcn.distributed.halo_exchange import Exchange, gather
from ranks_in_threads import run_ranks

ROWS = torch.arange(10.0, dtype=torch.float64).view(5, 2)  # rows 0 to 2 on rank 0, 3 and 4 on rank 1
OWN = (ROWS[:3], ROWS[3:])
WANTED = ((torch.tensor([1, 0]), torch.tensor([0, 2])), (torch.tensor([2]), torch.tensor([1, 0])))


def exchange(ranks):
    wanted, counts = WANTED[ranks.rank]
    return Exchange(len(OWN[ranks.rank]), wanted, counts, ranks)


def test_rows_of_other_ranks_follow_own_rows_in_the_order_that_was_asked():
    first, second = run_ranks(lambda ranks: exchange(ranks).gather_forward(OWN[ranks.rank]))
    assert torch.equal(first, torch.cat([ROWS[:3], ROWS[[4, 3]]]))
    assert torch.equal(second, torch.cat([ROWS[3:], ROWS[[2]]]))


def test_gradients_of_fetched_rows_are_added_on_the_rank_that_owns_them():
    def gradient(ranks):
        own = OWN[ranks.rank].clone().requires_grad_()
        gathered = gather(own, exchange(ranks))
        (gathered * (ranks.rank + 1)).sum().backward()
        return own.grad

    first, second = run_ranks(gradient)
    assert torch.equal(first, torch.tensor([[1.0, 1], [1, 1], [3, 3]], dtype=torch.float64))  # row 2 is on both
    assert torch.equal(second, torch.tensor([[3.0, 3], [3, 3]], dtype=torch.float64))


def test_bytes_that_are_sent_are_counted_both_ways():
    def sent(ranks):
        plan = exchange(ranks)
        plan.gather_backward(plan.gather_forward(OWN[ranks.rank]))
        return plan.halo, plan.sent

    assert run_ranks(sent) == [(2, 3 * 2 * 8), (1, 3 * 2 * 8)]


def test_a_part_of_the_halo_is_an_exchange_of_fewer_rows():
    masks = (torch.tensor([False, True]), torch.tensor([False]))
    first, second = run_ranks(lambda ranks: exchange(ranks).part(masks[ranks.rank]).gather_forward(OWN[ranks.rank]))
    assert torch.equal(first, torch.cat([ROWS[:3], ROWS[[3]]]))
    assert torch.equal(second, ROWS[3:])
