"""The child's side of `parent.py`: sets its own limits and carries out an order."""

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from engine.child.parent import (
    DISK_EXIT_STATUS,
    ERROR_FILE,
    MEMORY_EXIT_STATUS,
    NO_ROOM,
    RESULT_FILE,
    ReportProgress,
    Results,
)
from engine.errors import PlacetoError
from engine.events import Json
from engine.files.archive import pack

ChildFunction: TypeAlias = Callable[[dict[str, Json], Path, ReportProgress], Results]

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVILEGES = 38


def carry_out_and_exit(order: dict[str, Any]) -> NoReturn:
    """Carry out `order`, and exit at once: a regular exit of a loaded TensorFlow takes seconds."""
    status = 1
    try:
        status = _carry_out(order)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):  # a log that cannot be written to
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _carry_out(order: dict[str, Any]) -> int:
    """Carry out `order` within its limits, and return the exit status."""
    bind_to_parent(order["parent"])
    os.umask(0o077)
    _bind_to_limits(order["memory_bytes"], order["file_bytes"], order["cpu_seconds"], order["data_alone"])
    folder = Path(order["folder"])
    os.chdir(folder)
    try:
        arrays, texts = _function(order["function"])(order["arguments"], folder, _reporter(order["progress"]))
        _write(folder / RESULT_FILE, pack(arrays, texts))
    except PlacetoError as error:
        _write(folder / ERROR_FILE, json.dumps({"type": type(error).__name__, **error.facts()}).encode())
    except MemoryError:
        os._exit(MEMORY_EXIT_STATUS)  # before frames are dropped: TensorFlow's destructors may wait for ever then
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        return DISK_EXIT_STATUS
    return 0


def _function(path: str) -> ChildFunction:
    """Import the function `module:name`."""
    module, name = path.split(":")
    function: ChildFunction = getattr(importlib.import_module(module), name)
    return function


def _write(path: Path, content: bytes) -> None:
    """Write `content` whole or not at all, so that the parent never reads half of it."""
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.rename(path)


def _reporter(descriptor: int) -> ReportProgress:
    """A function that reports progress as JSON lines on the pipe."""
    os.set_inheritable(descriptor, False)

    def report(stage: str, done: int, total: int) -> None:
        os.write(descriptor, (json.dumps([stage, done, total]) + "\n").encode())

    return report


def bind_to_parent(parent: int) -> None:
    """Die when the parent dies, where the system supports it."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it died before the call


def _bind_to_limits(memory_bytes: int, file_bytes: int, cpu_seconds: int, data_alone: bool) -> None:
    """Set the limits that the system enforces; the parent enforces the wall time.

    `data_alone`: the limit is on written memory, not on addresses, of which a GPU's driver reserves more than memory.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_CPU, cpu_seconds)
    _lower(resource.RLIMIT_FSIZE, file_bytes)
    if sys.platform == "linux":  # elsewhere an address space cannot be limited
        _lower(resource.RLIMIT_DATA if data_alone else resource.RLIMIT_AS, memory_bytes)


def _lower(which: int, value: int) -> None:
    """Set a soft and hard limit to `value`, or to the present hard limit if that is lower."""
    _, hard = resource.getrlimit(which)
    lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (lowest, lowest))
