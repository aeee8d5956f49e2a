"""Processes that train one policy together: they meet through a store of torch.distributed and exchange bytes.

Where each of them has a GPU of its own, and they are on several hosts, the bytes go by NCCL, else by gloo. Loads torch.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import cast

import torch
from torch import Tensor, cuda
from torch.distributed import PrefixStore, ProcessGroup, ProcessGroupGloo, Store  # type: ignore[attr-defined]  # documented

from engine.errors import ChildKilledError

LOOPBACK = "127.0.0.1"
TIME_TO_CONNECT = timedelta(seconds=60)
TIME_UNTIL_LOST = timedelta(minutes=10)
"""after which a silent process is lost. One that ends is noticed at once, so this is for a network that is cut"""
SECONDS_BETWEEN_LOOKS = 0.25
"""at the others' wish to stop"""
LONGEST_SLEEP_SECONDS = 0.01


class LostLearnerError(ChildKilledError):
    """A process of the training has ended, or cannot be reached any more."""


class Meeting:
    """One meeting of `size` processes, of which this is number `rank`; it lasts until one of them leaves."""

    def __init__(self, store: Store, rank: int, size: int, address: str, watch: Callable[[], None]) -> None:
        """Listen at `address` alone, and wait until all have come; `watch` is called again and again meanwhile.

        Raises LostLearnerError if they cannot reach each other.
        """
        self.rank, self.size, self._looked = rank, size, 0.0
        with _lost_if_it_fails():
            self._store = PrefixStore(_agreed_name(store, rank, size, watch), store)
            has_gpus = address != LOOPBACK and _has_each_a_gpu(self._store, rank, size)
            self._device = torch.device("cuda" if has_gpus else "cpu")
            self._group = (_nccl if has_gpus else _gloo)(self._store, rank, size, address)

    def exchange(self, own: bytes, watch: Callable[[], object]) -> list[bytes]:
        """[size] what each process gives, by rank; `watch` is called while it waits. Raises LostLearnerError."""
        lengths = [int(length) for length in self._gathered(torch.tensor([len(own)]), watch)]
        padded = torch.frombuffer(bytearray(own.ljust(max(1, *lengths))), dtype=torch.uint8)
        rows = self._gathered(padded, watch)
        return [row.numpy().tobytes()[:length] for row, length in zip(rows, lengths, strict=True)]

    def _gathered(self, own: Tensor, watch: Callable[[], object]) -> list[Tensor]:
        """[size] `own` of each process; all have one shape."""
        own = own.to(self._device)
        found, sleep_seconds = [torch.empty_like(own) for _ in range(self.size)], 1e-4
        with _lost_if_it_fails():
            work = self._group.allgather([found], [own])
            while not work.is_completed():
                watch()
                time.sleep(sleep_seconds)
                sleep_seconds = min(2 * sleep_seconds, LONGEST_SLEEP_SECONDS)
            work.wait()
        return [each.cpu() for each in found]

    def ask_to_stop(self) -> None:
        """Ask all to end the round, and the training."""
        with _lost_if_it_fails():
            self._store.set("stop", "1")

    def is_stop_asked(self) -> bool:
        """Whether one of the processes has asked to stop; it looks four times a second."""
        if time.monotonic() - self._looked < SECONDS_BETWEEN_LOOKS:
            return False
        self._looked = time.monotonic()
        with _lost_if_it_fails():
            return self._store.check(["stop"])

    def end(self) -> None:
        """Leave, which the others notice."""
        self._group.abort()


def _agreed_name(store: Store, rank: int, size: int, watch: Callable[[], None]) -> str:
    """A name for this meeting that no earlier one had: torchrun's store keeps what earlier processes wrote.

    Each writes a new word, then all words that it sees; when all have seen the same, nobody is missing.
    """
    here, sees = ([f"{what}.{number}" for number in range(size)] for what in ("here", "sees"))
    store.set(here[rank], secrets.token_hex(8))
    while True:
        if store.check(here):
            seen = b"".join(map(store.get, here))
            store.set(sees[rank], seen.decode())
            if store.check(sees) and all(store.get(key) == seen for key in sees):
                return seen.decode()
        watch()
        time.sleep(LONGEST_SLEEP_SECONDS)


def _has_each_a_gpu(store: Store, rank: int, size: int) -> bool:
    """Whether each process has a GPU of its own, as NCCL needs."""
    store.set(f"gpu.{rank}", str(cuda.get_device_properties().uuid) if cuda.is_available() else "")
    found = {store.get(f"gpu.{number}") for number in range(size)}
    return len(found) == size and b"" not in found


def _gloo(store: Store, rank: int, size: int, address: str) -> ProcessGroup:
    options = ProcessGroupGloo._Options()  # type: ignore[attr-defined]  # the name of `Options` here
    options._devices, options._timeout = [ProcessGroupGloo.create_device(hostname=address)], TIME_TO_CONNECT
    group = ProcessGroupGloo(store, rank, size, options)
    group._set_default_timeout(TIME_UNTIL_LOST)
    return cast(ProcessGroup, group)


def _nccl(store: Store, rank: int, size: int, _address: str) -> ProcessGroup:
    from torch.distributed import ProcessGroupNCCL  # which torch for CPUs lacks

    options = ProcessGroupNCCL.Options()
    options._timeout = TIME_UNTIL_LOST
    return cast(ProcessGroup, ProcessGroupNCCL(store, rank, size, options))


@contextmanager
def _lost_if_it_fails() -> Iterator[None]:
    """What torch raises in this context means that another process is gone."""
    try:
        yield
    except RuntimeError as error:
        raise lost(str(error).partition(". This is")[0].rpartition("] ")[2]) from error


def lost(why: str) -> LostLearnerError:
    """The error for a process that is gone."""
    allowed = "another try, with fewer learners if memory ran out"
    return LostLearnerError(f"a learner of the training is gone: {why}", allowed=allowed, field="settings")
