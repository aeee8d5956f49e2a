"""The trials of a calibration's link, sent by gloo from one process to another."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, distributed

from engine.measuring.calibrating import trials
from engine.measuring.calibrating.trials import HOPS, LARGE_BYTES, LINK_BYTES, OVERLAPPED_TRANSFERS, SMALL_BYTES

FLOAT_BYTES = 4
MATRIX, PRODUCTS = 512, 4
"""rows of a square matrix, and how often it is multiplied beside transfers"""
SENDER, RECEIVER = 0, 1
LinkStep = Callable[[], None]


def trial_times(rank: int, arguments: Mapping[str, Any]) -> dict[str, list[list[tuple[float, float]]]]:
    """Trial → [rounds][steps] begin and end in this process; one round more warms up."""
    steps = dict(_trials(rank))
    times: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in steps}
    for number in range(-1, arguments["rounds"]):
        for name, step in steps.items():
            found = [_timed(step) for _ in range(arguments["steps"])]
            if number >= 0:
                times[name].append(found)
    return times


def _timed(step: LinkStep) -> tuple[float, float]:
    distributed.barrier()
    begin = time.monotonic()
    step()
    return begin, time.monotonic()


def _trials(rank: int) -> Iterator[tuple[str, LinkStep]]:
    for size in LINK_BYTES:
        for local in (True, False):
            yield trials.there_and_back(size, local=local), _hops(rank, size, local)
    large = OVERLAPPED_TRANSFERS
    for size in (SMALL_BYTES, LARGE_BYTES):
        for count in (1, trials.AT_ONCE):
            yield trials.sent_at_once(size, count), _sent(rank, size, {SENDER: count})
    yield trials.TRANSFERS_ALONE, _sent(rank, LARGE_BYTES, {SENDER: large})
    yield trials.sent_at_once(LARGE_BYTES, large, back=True), _sent(rank, LARGE_BYTES, {RECEIVER: large})
    both = {SENDER: large, RECEIVER: large}
    yield trials.sent_at_once(LARGE_BYTES, large, both=True), _sent(rank, LARGE_BYTES, both)
    compute = _computing()  # in both processes, as in a pipeline: with an idle one its processor would send and receive
    for at in ("sender", "receiver"):
        yield trials.computing(at, alone=True), compute
        yield trials.computing(at, alone=False), _sent(rank, LARGE_BYTES, {SENDER: large}, compute)


def _nothing() -> None:
    pass


def _hops(rank: int, size: int, local: bool) -> LinkStep:
    """HOPS ops on a tensor, each in the other process than the one before; or all in the first one."""
    value = _tensor(size)

    def step() -> None:
        for hop in range(HOPS):
            if local or hop % 2 == rank:
                if not local or rank == SENDER:
                    torch.neg(value, out=value)
                if not local:
                    distributed.send(value, 1 - rank)
            else:
                distributed.recv(value, 1 - rank)

    return step


def _sent(rank: int, size: int, count_of_sender: Mapping[int, int], beside: LinkStep = _nothing) -> LinkStep:
    """So many tensors from each sender at once, while this process does something `beside`."""
    sent = [_tensor(size) for _ in range(count_of_sender.get(rank, 0))]
    received = [_tensor(size) for _ in range(count_of_sender.get(1 - rank, 0))]

    def step() -> None:
        works = [distributed.isend(each, 1 - rank) for each in sent]
        works += [distributed.irecv(each, 1 - rank) for each in received]
        beside()
        for work in works:
            assert work is not None
            work.wait()

    return step


def _computing() -> LinkStep:
    matrix = torch.rand(MATRIX, MATRIX)

    def step() -> None:
        for _ in range(PRODUCTS):
            torch.mm(matrix, matrix)

    return step


def _tensor(size: int) -> Tensor:
    return torch.rand(max(1, size // FLOAT_BYTES))
