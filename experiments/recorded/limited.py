"""A function in a child process of its own, which has imported what it needs, and which a time limit ends."""

import importlib
import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

STEP, ROW = "step", "row"
START = "start"
MOST_TO_START_S = 120.0


def limited_row(function: str, case: Mapping[str, Any], seconds: float, preload: Sequence[str] = ()) -> dict[str, Any]:
    """What a function gives for `case` in a child; `failed` and a `sentence` where it takes longer or the child dies.

    The children are forks of one process that has imported the modules `preload`.

    Args:
        function: `module:name`; gives the row of a case, and calls its second argument with each step that begins.
        case: What the row is of.
        seconds: The limit, from when the child has imported the function.
        preload: Names of modules.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(function, case, theirs))
    process.start()
    theirs.close()
    try:
        return _row(ours, seconds)
    finally:
        process.kill()
        process.join()
        ours.close()


def _run(function: str, case: Mapping[str, Any], theirs: Connection) -> None:
    module, _, name = function.partition(":")
    rows: Callable[[Mapping[str, Any], Callable[[str], None]], dict[str, Any]]
    rows = getattr(importlib.import_module(module), name)
    theirs.send({STEP: START})
    row = rows(case, lambda step: theirs.send({STEP: step}))
    theirs.send({ROW: row})


def _row(ours: Connection, seconds: float) -> dict[str, Any]:
    step, end = START, time.monotonic() + MOST_TO_START_S
    while ours.poll(max(0.0, end - time.monotonic())):
        try:
            message = ours.recv()
        except EOFError:
            return {"failed": step, "sentence": "its process died"}
        if ROW in message:
            row: dict[str, Any] = message[ROW]
            return row
        step = message[STEP]
        if step == START:
            end = time.monotonic() + seconds
    return {"failed": step, "sentence": f"it takes longer than {seconds:g} s"}
