"""What a decision adds up over the groups: compiled as by hand and as by torch, and so are its gradients."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from engine.placeto.networks import group_sums as module
from engine.placeto.networks.group_sums import Decisions, group_sums

GROUPS, DEVICES, WIDTH, BATCH = 5, 3, 4, 2
Tables = tuple[Tensor, Tensor, Tensor]


def decisions(*, passes: int, placed: bool) -> Decisions:
    """Random ones, each group once a pass; `placed`: all groups are somewhere before the first."""
    draw = torch.Generator().manual_seed(passes + 10 * placed)
    orders = torch.stack(
        [torch.cat([torch.randperm(GROUPS, generator=draw) for _ in range(passes)]) for _ in range(BATCH)]
    )
    starts = torch.randint(0 if placed else -1, DEVICES, (BATCH, GROUPS), generator=draw)
    actions = torch.randint(0, DEVICES, orders.shape, generator=draw)
    before = torch.empty_like(actions)
    for episode in range(BATCH):
        placement = starts[episode].clone()
        for step, group in enumerate(orders[episode]):
            before[episode, step] = placement[group]
            placement[group] = actions[episode, step]
    members = torch.randint(0, 4, (orders.numel() * DEVICES,), generator=draw)
    return Decisions(
        starts=starts,
        orders=orders,
        actions=actions,
        before=before,
        views=torch.zeros(0),
        member_index=torch.randint(0, 2 * GROUPS, (int(members.sum()),), generator=draw),
        member_offset=torch.cat([torch.zeros(1, dtype=torch.int64), members.cumsum(0)]),
        allowed=torch.zeros(0),
        prior_scores=torch.zeros(0),
    )


def tables() -> Tables:
    draw = torch.Generator().manual_seed(7)
    own, more, parallel = (
        torch.rand(rows, WIDTH, generator=draw, dtype=torch.float64, requires_grad=True)
        for rows in (GROUPS, 2 * GROUPS, GROUPS)
    )
    return own, more, parallel


def by_hand(own: Tensor, more: Tensor, parallel: Tensor, made: Decisions) -> Tensor:
    """Decision by decision."""
    rows: list[Tensor] = []
    for episode in range(BATCH):
        placement = made.starts[episode].tolist()
        for step, group in enumerate(made.orders[episode].tolist()):
            for device in range(DEVICES):
                bag = len(rows)
                row = own[group]
                for member in made.member_index[made.member_offset[bag] : made.member_offset[bag + 1]]:
                    row = row + more[member]
                for other in range(GROUPS):
                    if other != group and placement[other] == device:
                        row = row + parallel[other]
                rows.append(row)
            placement[group] = int(made.actions[episode, step])
    return torch.stack(rows).reshape(BATCH, -1, DEVICES, WIDTH)


def answer(method: Callable[..., Tensor], made: Decisions) -> list[Tensor]:
    """The sums, and the gradients of the three tables."""
    given = tables()
    sums = method(*given, made)
    weight = torch.rand(sums.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return [sums.detach(), *torch.autograd.grad((sums * weight).sum(), given)]


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize("method", [group_sums, module._of_torch])
def test_sums_and_gradients_are_those_by_hand(method: Callable[..., Tensor], passes: int, placed: bool) -> None:
    made = decisions(passes=passes, placed=placed)
    for ours, theirs in zip(answer(method, made), answer(by_hand, made), strict=True):
        assert torch.allclose(ours, theirs, rtol=0.0, atol=1e-12)


def test_on_the_cpu_the_compiled_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(module, "_of_torch")
    assert group_sums(*tables(), decisions(passes=1, placed=True)).requires_grad
