"""Runs work on untrusted files, or with TensorFlow, in a child process with limits: the parent's side.

A child gets its arguments as JSON, reports its progress as JSON lines on a pipe, and leaves its result as files in a
private folder, which is deleted afterwards. Nothing of it is a pickle. The child is killed with its process group on
time-out, when it does nothing for a minute (`idling.py`), and with its parent (where the system supports it).
`process.py` is the child's side.
"""

import errno
import json
import logging
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine import errors
from engine.child import idling
from engine.child.warm import ServerLostError, WarmChild, WarmServer, warm_server
from engine.errors import (
    ChildError,
    ChildKilledError,
    GraphError,
    LimitError,
    PlacetoError,
    SettingsError,
    TimeLimitError,
    shortened,
)
from engine.events import Json
from engine.files.archive import unpack
from engine.number_words import bytes_words

ReportProgress: TypeAlias = Callable[[str, int, int], None]
"""(stage, done, total); total 0 where unknown. An exception from it ends the child and reaches the caller."""

Pulse: TypeAlias = Callable[[], None]
"""called several times a second while a child works; an exception from it ends the child and reaches the caller"""
SECONDS_BETWEEN_PULSES = 0.25

Results: TypeAlias = tuple[dict[str, NDArray[np.generic]], dict[str, Json]]
"""arrays and texts, as `archive.pack` takes them"""

MEBIBYTE = 1024**2
LEAST_MEMORY_BYTES = 128 * MEBIBYTE
ORDER_FILE, RESULT_FILE, ERROR_FILE, LOG_FILE = "order.json", "result.npz", "error.json", "log.txt"
MEMORY_EXIT_STATUS, DISK_EXIT_STATUS = 12, 13
"""the child's exit status after a MemoryError, and after a full disk or too large a file"""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LONGEST_PROGRESS_LINE = 64 * 1024
LOG_TAIL_BYTES = 4000
LONGEST_STACK_BYTES = 64 * 1024
OUT_OF_MEMORY_MARKS = (b"bad_alloc", b"Cannot allocate memory", b"MemoryError", b"failed to map", b"out of memory")
"""marks in the log of C++ code that aborted for lack of memory"""
FAILED_CHECK = re.compile(rb"^F[0-9]{4} [^\]\n]*\] (.+)$", re.MULTILINE)
"""the line with which TensorFlow ends its process, before the stack"""
GPU_DRIVER = Path("/dev/nvidiactl")
"""exists where the machine has a GPU that TensorFlow can use"""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one child's work on one file. Raises SettingsError for limits that are out of range."""

    file_bytes: int = 256 * MEBIBYTE
    """size of the file that is read"""
    memory_bytes: int = 4 * 1024**3
    """address space of the child process"""
    seconds: float = 120.0
    """wall time of the child process"""

    def __post_init__(self) -> None:
        if self.file_bytes < 1:
            raise SettingsError(f"{self.file_bytes}", where="file_bytes", allowed="an integer from 1")
        if self.memory_bytes < LEAST_MEMORY_BYTES:
            raise SettingsError(f"{self.memory_bytes}", where="memory_bytes", allowed=f"at least {LEAST_MEMORY_BYTES}")
        if not 0 < self.seconds < float("inf"):
            raise SettingsError(f"{self.seconds}", where="seconds", allowed="a number above 0")


BUDGETED_LIMITS = Limits(memory_bytes=64 * 1024**3, seconds=14 * 24 * 3600.0)
"""for a child that works on trusted data and ends by its own budget"""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


def no_pulse() -> None:
    """Do nothing: the caller waits for the child's end."""


def require_size(path: Path, limits: Limits) -> None:
    """Raise LimitError if the file `path` is larger than `limits` allow, GraphError if it cannot be read."""
    if not path.is_file() or not os.access(path, os.R_OK):
        what = "the file cannot be read" if path.exists() else "there is no such file"
        raise GraphError(what, where=shortened(path.name), allowed="a file", field="file")
    size = path.stat().st_size
    if size > limits.file_bytes:
        raise LimitError(
            f"the file is too large: {bytes_words(size)}",
            allowed=f"at most {bytes_words(limits.file_bytes)}",
            field="file",
        )


@contextmanager
def child_results(
    function: str,
    arguments: Mapping[str, Json],
    limits: Limits,
    *,
    task: str = "",
    report_progress: ReportProgress = no_progress,
    pulse: Pulse = no_pulse,
    with_gpus: bool = False,
    is_warm: bool = False,
    own_network: bool = False,
    reads: Sequence[Path] | None = None,
) -> Iterator[tuple[Results, Path]]:
    """Run `function` ("module:name", trusted) in a child; yields its results and its folder of other files.

    The function is called as `function(arguments, folder, report_progress) -> Results`; the folder is gone when the
    context ends. `task` names the work in an error ("reading the graph"); empty: the stage that the function reported
    last. The child sees the machine's GPUs only `with_gpus`. `is_warm`: it is forked from the process that
    `warm.keep_warm` keeps, if there is one. With `own_network` it has a network namespace of its own: see
    `own_network.py`. With `reads` it is in a sandbox: it reads these files and code, writes its folder, and reaches
    nothing else, see `sandbox.py`. Raises the typed error that the function raised, SettingsError where no such
    namespace can be made, LimitError for too much time or memory, ChildError for a crash.
    """
    files = None if reads is None else tuple(str(path.absolute()) for path in reads)
    place = _Place(with_gpus and GPU_DRIVER.exists(), own_network, files)
    with ExitStack() as stack:
        folder = _new_folder(stack)
        server = warm_server() if is_warm and not (place.with_gpus or own_network) else None
        try:
            _run(function, arguments, limits, task, folder, report_progress, pulse, place, server)
        except ServerLostError:
            _logger.warning("the process that forks children has ended; this child is started on its own")
            folder = _new_folder(stack)
            _run(function, arguments, limits, task, folder, report_progress, pulse, place, None)
        yield unpack((folder / RESULT_FILE).read_bytes()), folder


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a child works."""

    with_gpus: bool
    own_network: bool
    reads: tuple[str, ...] | None
    """the files that it may read in its sandbox; None: it has no sandbox"""


def _new_folder(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="placeto-", ignore_cleanup_errors=True)))


def run_in_child(
    function: str,
    arguments: Mapping[str, Json],
    limits: Limits,
    *,
    task: str = "",
    report_progress: ReportProgress = no_progress,
    pulse: Pulse = no_pulse,
    is_warm: bool = False,
    reads: Sequence[Path] | None = None,
) -> Results:
    """Return the results of `child_results`, for a function that leaves no other files."""
    with child_results(
        function,
        arguments,
        limits,
        task=task,
        report_progress=report_progress,
        pulse=pulse,
        is_warm=is_warm,
        reads=reads,
    ) as made:
        return made[0]


def publish(made: Path, destination: Path) -> None:
    """Copy a child's file to `destination`, whole or not at all. Raises SettingsError where that fails."""
    try:
        _publish(made, destination)
    except OSError as error:
        what = f"it cannot be written: {error.strerror}"
        raise SettingsError(
            what, where=shortened(str(destination)), allowed="a folder with room", field="out"
        ) from None


def _publish(made: Path, destination: Path) -> None:
    descriptor, name = tempfile.mkstemp(dir=destination.parent, prefix=f".{destination.name[:64]}.")
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as target, made.open("rb") as source:
            shutil.copyfileobj(source, target)
        partial.chmod(0o644)
        partial.replace(destination)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _run(
    function: str,
    arguments: Mapping[str, Json],
    limits: Limits,
    task: str,
    folder: Path,
    report_progress: ReportProgress,
    pulse: Pulse,
    place: _Place,
    server: WarmServer | None,
) -> None:
    """Run the child to its end; it leaves its result in `folder`. Raises the child's error."""
    reading_end, writing_end = os.pipe()
    order: dict[str, Json] = {
        "function": function,
        "arguments": dict(arguments),
        "folder": str(folder),
        "progress": writing_end,
        "parent": os.getpid(),
        "memory_bytes": limits.memory_bytes,
        "data_alone": place.with_gpus,
        "own_network": place.own_network,
        "reads": None if place.reads is None else [*place.reads],
        "file_bytes": max(4 * limits.file_bytes, 64 * MEBIBYTE),
        "cpu_seconds": int(limits.seconds * (os.cpu_count() or 1)) + 1,
    }
    kills_before = kills_for_memory()
    with os.fdopen(reading_end, "rb", buffering=0) as progress, (folder / LOG_FILE).open("wb") as log:
        try:
            (folder / ORDER_FILE).write_bytes(json.dumps(order, allow_nan=False).encode())
            child: WarmChild | StartedChild | None = None
            if server is not None:
                child = server.child(folder, writing_end, log.fileno())
            if child is None:
                environment = environment_of_children(folder, with_gpus=place.with_gpus)
                child = StartedChild(folder, writing_end, log, environment)
        finally:
            os.close(writing_end)
        stage = "the work"

        def report(name: str, done: int, total: int) -> None:
            nonlocal stage
            stage = name
            report_progress(name, done, total)

        try:
            in_time = _follow(child, progress, limits.seconds, report, pulse)
        except _IdleError as idle:
            raise _typed_error_of(idle, task or stage) from None
        finally:
            status = child.end()
    task = task or stage
    if not in_time:
        raise TimeLimitError(f"{task} took too long", allowed=f"at most {limits.seconds:g} seconds", field="file")
    was_killed = status == -signal.SIGKILL and kills_before is not None and kills_before == kills_for_memory()
    _raise_its_error(status, folder, limits, task, was_killed=was_killed)


def kills_for_memory() -> int | None:
    """How many processes the system has killed because memory ran out; None where it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)


def environment_of_children(home: Path, *, with_gpus: bool = False) -> dict[str, str]:
    """A child's whole environment; it inherits nothing.

    oneDNN is on, as `graphs/tensorflow/cpu_kernels.py` counts on; TensorFlow by itself turns it off on some processors.
    """
    environment = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_ENABLE_ONEDNN_OPTS": "1",
    }
    return environment if with_gpus else environment | {"CUDA_VISIBLE_DEVICES": "-1"}


class StartedChild:
    """A child started as a new process in a new session; its order is its standard input."""

    def __init__(self, folder: Path, progress: int, log: IO[bytes], environment: Mapping[str, str]) -> None:
        with (folder / ORDER_FILE).open("rb") as order:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "engine.child"],
                stdin=order,
                stdout=log,
                stderr=log,
                cwd=Path(__file__).parents[2],
                env=environment,
                pass_fds=(progress,),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def wait(self, seconds: float) -> bool:
        """Whether it ends within `seconds`."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> int:
        """Kill what is left of its process group, and return its exit status."""
        with suppress(ProcessLookupError, PermissionError):  # the group is empty
            os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()


class _IdleError(Exception):
    """The child does nothing any more."""

    def __init__(self, *, is_stopped: bool) -> None:
        super().__init__()
        self.is_stopped = is_stopped


def _typed_error_of(idle: _IdleError, task: str) -> PlacetoError:
    """A child that hangs has failed; one that somebody stopped from outside may be tried again."""
    _logger.warning("child ended while %s: it did nothing for %g seconds", task, idling.MOST_IDLE_SECONDS)
    if idle.is_stopped:
        return ChildKilledError(f"{task} was interrupted: its process was stopped", allowed="another try", field="file")
    what = f"{task} failed: the process did nothing for {idling.MOST_IDLE_SECONDS:g} seconds"
    return ChildError(what, field="file")


def _follow(
    child: WarmChild | StartedChild,
    progress: IO[bytes],
    seconds: float,
    report_progress: ReportProgress,
    pulse: Pulse,
) -> bool:
    """Pass progress on until the child closes its pipe and ends; False if it does not within `seconds`.

    Raises _IdleError, ServerLostError.
    """
    deadline = time.monotonic() + seconds
    pending = b""
    idle: idling.Idling | None = None
    with selectors.DefaultSelector() as selector:
        selector.register(progress, selectors.EVENT_READ)
        while (remaining := deadline - time.monotonic()) > 0:
            pulse()
            if idle is None and child.pid is not None:
                idle = idling.Idling(child.pid)
            if idle is not None and idle.seconds() >= idling.MOST_IDLE_SECONDS:
                raise _IdleError(is_stopped=idling.is_stopped(idle.leader))
            if not selector.select(min(remaining, SECONDS_BETWEEN_PULSES)):
                continue
            chunk = os.read(progress.fileno(), LONGEST_PROGRESS_LINE)
            if not chunk:
                break
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                stage, done, total = json.loads(line)
                report_progress(str(stage), int(done), int(total))
            if len(pending) > LONGEST_PROGRESS_LINE:
                return True  # no progress line is that long: the child is killed, and reported as a crash
    return child.wait(max(0.0, deadline - time.monotonic()))


def _raise_its_error(status: int, folder: Path, limits: Limits, task: str, *, was_killed: bool) -> None:
    """Raise the error for the child's end, unless it left a result. `was_killed`: and not because memory ran out."""
    if (folder / ERROR_FILE).exists():
        _raise_typed(json.loads((folder / ERROR_FILE).read_bytes()))
    if status == 0 and (folder / RESULT_FILE).exists():
        return
    with (folder / LOG_FILE).open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - LONGEST_STACK_BYTES))
        failed_check = FAILED_CHECK.search(stack := log.read())
        tail = stack[-LOG_TAIL_BYTES:]
    _logger.warning("child failed while %s: status %d\n%s", task, status, tail.decode("utf-8", "replace"))
    if status == -signal.SIGXCPU:
        raise TimeLimitError(f"{task} took too long", allowed=f"at most {limits.seconds:g} seconds", field="file")
    if was_killed:
        raise ChildKilledError(f"{task} was interrupted: its process was killed", allowed="another try", field="file")
    killed_for_memory = status in (MEMORY_EXIT_STATUS, -signal.SIGKILL)
    if killed_for_memory or any(mark in tail for mark in OUT_OF_MEMORY_MARKS):
        allowed = f"at most {limits.memory_bytes // MEBIBYTE} MiB"
        raise LimitError(f"{task} took too much memory", allowed=allowed, field="file")
    if status == DISK_EXIT_STATUS:
        raise LimitError(f"{task} took too much room on the disk", field="file")
    if status == -signal.SIGABRT and failed_check is not None:
        words = shortened(failed_check[1].decode("utf-8", "replace"), 200)
        raise ChildError(f"{task} failed: TensorFlow ended the process: {words}", field="file")
    end = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
    raise ChildError(f"{task} failed: the process ended with {end}", field="file")


def _raise_typed(error: dict[str, str]) -> NoReturn:
    """Raise the typed error that the child wrote to its file."""
    error_type = getattr(errors, error.pop("type"))
    assert isinstance(error_type, type)
    assert issubclass(error_type, PlacetoError)
    raise error_type(**error)
