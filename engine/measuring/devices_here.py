"""The devices of this machine on which a placed graph runs: TensorFlow's own, or a process for each. In the child.

Devices of one process pass tensors on without a copy. Processes are servers of TensorFlow, which send each other the
bytes by gRPC. A server runs whatever it is sent, so the child that starts some has a network of its own
(`engine/child/own_network.py`); it is itself the first of them.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import tensorflow as tf

from engine.child.parent import environment_of_children, kills_for_memory
from engine.errors import ClusterError
from engine.graphs.device_string import DeviceString, parse_device_string
from engine.graphs.tensorflow.messages import Message
from engine.measuring.device_process import DeviceProcess, require_few
from engine.measuring.device_server import JOB, MEMORY, READY, RESET, started_server
from engine.measuring.process_memory import ProcessMemory, memory_here, reset_peaks_here
from engine.measuring.session_graph import session_settings, v1
from engine.simulator.batches import usable_cores

FIRST_PORT = 40_000
"""in a network of its own every port is free"""
SECONDS_BETWEEN_LOOKS = 0.05
"""at the processes of devices while a session closes"""


@dataclass(frozen=True, slots=True)
class DevicesHere:
    """Devices that are ready to run a graph."""

    names: Mapping[str, str]
    """device of a placement → device of this machine"""
    virtual: bool
    """whether they are virtual CPUs of one process in place of other devices"""
    threads: int
    """of each op on a CPU"""
    target: str
    """what a session connects to; empty: this process"""
    settings: Message
    """ConfigProto of a session"""
    processor_seconds: Callable[[], float]
    """processor time so far, of all threads of all processes"""
    workers: tuple[DeviceProcess, ...] = ()
    """the processes of all devices but the first, which is this one; none where one process has all devices"""

    def memory(self, *, reset: bool = False) -> list[ProcessMemory]:
        """[devices] what the process of each holds; with `reset` the peaks begin anew."""
        if reset:
            reset_peaks_here()
        return [memory_here(), *(_asked(worker.process, RESET if reset else MEMORY) for worker in self.workers)]

    @contextmanager
    def session(self) -> Iterator[Any]:
        """A session on the present default graph, without the variables of earlier ones.

        Raises LimitError, ChildKilledError or ChildError if the process of a device has ended meanwhile.
        """
        self._require_running()
        if self.target:
            v1.Session.reset(self.target)  # variables of processes outlive their session
        session = v1.Session(self.target, config=self.settings)
        try:
            yield session
        finally:
            self._close(session)

    def _require_running(self) -> None:
        for worker in self.workers:
            worker.require_running()

    def _close(self, session: Any) -> None:
        """Close `session`; in a thread, since that never ends where the process of a device has ended."""
        closing = Thread(target=session.close, daemon=True)
        closing.start()
        while closing.is_alive():
            self._require_running()
            closing.join(SECONDS_BETWEEN_LOOKS)
        self._require_running()


def devices_of_this_process(names: Sequence[str], used: int, threads: int) -> DevicesHere:
    """TensorFlow's devices in this process for a placement that uses `used` of the devices `names`.

    If the machine lacks a device that is no CPU, all become virtual CPUs, in their order. `threads` 0: the processors,
    shared among the used devices.
    """
    gpus = len(tf.config.list_physical_devices("GPU"))
    parts = [_parts(name) for name in names]
    virtual = any(part.type != "CPU" and not (part.type == "GPU" and int(part.index) < gpus) for part in parts)
    chosen = [("CPU", index) for index in range(len(names))] if virtual else [(p.type, int(p.index)) for p in parts]
    if len(set(chosen)) < len(names):
        what = "two of the devices have one type and number, on different machines"
        raise ClusterError(what, where=", ".join(names), allowed="the devices of this machine", field="cluster")
    cpus = 1 + max((index for type_, index in chosen if type_ == "CPU"), default=0)
    threads = threads or max(1, usable_cores() // used)
    settings = session_settings(threads, parallel_ops=used, cpu_devices=cpus)
    settings.allow_soft_placement = False
    written = {
        name: f"/job:localhost/replica:0/task:0/device:{type_}:{index}"
        for name, (type_, index) in zip(names, chosen, strict=True)
    }
    return DevicesHere(written, virtual, threads, "", settings, time.process_time)


@contextmanager
def a_process_for_each(names: Sequence[str], threads: int) -> Iterator[DevicesHere]:
    """A process for each device of a placement, with `threads` for each op (0: one). The child has its own network.

    Raises ClusterError for too many devices, and as `DevicesHere.session` for a process that ends at its start.
    """
    require_few(names)
    threads = threads or 1
    addresses = [f"127.0.0.1:{FIRST_PORT + index}" for index in range(len(names))]
    with ExitStack() as stack:
        kills = kills_for_memory()
        workers = [
            DeviceProcess(name, stack.enter_context(_worker(addresses, index, threads)), kills)
            for index, name in enumerate(names)
            if index
        ]
        for worker in workers:
            assert worker.process.stdout is not None
            if worker.process.stdout.readline().strip() != READY:
                raise worker.ended(worker.process.wait())
        server = started_server(addresses, 0, threads)
        settings = session_settings(threads, parallel_ops=1)
        settings.allow_soft_placement = False
        written = {name: f"/job:{JOB}/replica:0/task:{index}/device:CPU:0" for index, name in enumerate(names)}
        clocks = [_processor_clock(worker.process.pid) for worker in workers]
        yield DevicesHere(
            names=written,
            virtual=False,
            threads=threads,
            target=server.target,
            settings=settings,
            processor_seconds=lambda: time.process_time() + sum(map(time.clock_gettime, clocks)),
            workers=tuple(workers),
        )


@contextmanager
def _worker(addresses: Sequence[str], index: int, threads: int) -> Iterator[subprocess.Popen[str]]:
    """The process of device `index`, which is killed at the end."""
    order = {"addresses": list(addresses), "index": index, "threads": threads, "parent": os.getpid()}
    worker = subprocess.Popen(
        [sys.executable, "-m", "engine.measuring.device_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env=environment_of_children(Path.cwd()),
    )
    try:
        _send(worker, json.dumps(order))
        yield worker
    finally:
        worker.kill()
        worker.wait()


def _send(worker: subprocess.Popen[str], line: str) -> None:
    assert worker.stdin is not None
    worker.stdin.write(f"{line}\n")
    worker.stdin.flush()


def _asked(worker: subprocess.Popen[str], line: str) -> ProcessMemory:
    """The answer of a device's process."""
    _send(worker, line)
    assert worker.stdout is not None
    return ProcessMemory(**json.loads(worker.stdout.readline()))


def _processor_clock(pid: int) -> int:
    """The id of the clock of a process's processor time. Source: clock_getcpuclockid of the Linux kernel's ABI."""
    return (~pid << 3) | 2


def _parts(name: str) -> DeviceString:
    return parse_device_string(name, name)
