"""With `sender`, the list of each device's ready tasks, compiled. A task is an op, or ops + a transfer to send.

A device takes the first task of its list. At its head are the ops that run at once, first in, first out; then comes
what its own ops made ready, last in, first out; and at the end what arrived from elsewhere.
"""

from engine.files.compiled import inlined
from engine.simulator.records import NO_INDEX, Scratch


@inlined
def put_inline(scratch: Scratch, device: int, task: int) -> None:
    """Put `task` behind those that run at once, before all others."""
    put_first(scratch, device, task)
    scratch.channels[device].last_inline = task


@inlined
def put_first(scratch: Scratch, device: int, task: int) -> None:
    """Put `task` before all but those that run at once."""
    tasks = scratch.channels[device]
    before = tasks.last_inline
    if before == NO_INDEX:
        following = tasks.head
        tasks.head = task
    else:
        following = scratch.next_task[before]
        scratch.next_task[before] = task
    scratch.next_task[task] = following
    if following == NO_INDEX:
        tasks.tail = task


@inlined
def put_last(scratch: Scratch, device: int, task: int) -> None:
    """Put `task` at the end of the list."""
    tasks = scratch.channels[device]
    scratch.next_task[task] = NO_INDEX
    if tasks.head == NO_INDEX:
        tasks.head = task
    else:
        scratch.next_task[tasks.tail] = task
    tasks.tail = task


@inlined
def take_first(scratch: Scratch, device: int) -> int:
    """Take the head of the list; `NO_INDEX` if the list is empty."""
    tasks = scratch.channels[device]
    task: int = tasks.head
    if task != NO_INDEX:
        tasks.head = scratch.next_task[task]
        if task == tasks.last_inline:
            tasks.last_inline = NO_INDEX
    return task
