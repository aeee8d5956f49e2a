"""With `sender`, the list of each device's ready tasks, compiled. A task is an op, or ops + a transfer to send.

A device takes the first task of its list. What an op makes ready on its own device comes first, the last one foremost;
what arrives from elsewhere comes last.
"""

from engine.files.compiled import inlined
from engine.simulator.records import NO_INDEX, Scratch


@inlined
def put_first(scratch: Scratch, device: int, task: int) -> None:
    """Put `task` at the head of the list."""
    tasks = scratch.channels[device]
    scratch.next_task[task] = tasks.head
    if tasks.head == NO_INDEX:
        tasks.tail = task
    tasks.head = task


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
    return task
