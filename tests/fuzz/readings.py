"""Target 2: the reading functions in forked processes, without HTTP.

    fuzzer ──starts──▶ reader (all loaded, one thread) ──forks──▶ child: a batch of inputs, one after the other

The child has the limits of the engine's children. It reports each input's end with the new lines that ran. An input
that runs new lines joins the corpus. An input that kills its child, takes too long or raises what is no PlacetoError is
read once more in a child of the engine's own, as the application starts it: its end counts.
"""

import importlib
import json
import os
import resource
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, NoReturn

from engine.child.parent import LEAST_MEMORY_BYTES, OUT_OF_MEMORY_MARKS, Limits, run_in_child
from engine.child.process import bind_to_parent
from engine.errors import ChildError, LimitError, PlacetoError, TimeLimitError
from engine.formats.reading import LOADED_FIRST
from tests.fuzz.inputs import Input
from tests.fuzz.lines import Lines, Recorder
from tests.fuzz.mutating import mutated
from tests.fuzz.outcomes import ABORT, ABORTED, BROKEN, OVER_LIMIT, READ, REFUSED, SLOWEST_SECONDS, Tally
from tests.fuzz.reading import as_order, read_input
from tests.fuzz.seeds import seeds_of
from tests.fuzz.sentences import fault_of_sentence
from tests.process_facts import memory_bytes

BATCH = 40
"""inputs a child"""
MOST_CORPUS_BYTES = 64 * 1024
"""larger inputs do not join the corpus"""
SECONDS_BETWEEN_REPORTS = 5.0
LOG_TAIL_BYTES = 30_000
LAST_WORDS = ("Check failed", "terminate called", "what():", "Fatal", "F0000 ")
"""marks of the line with which C++ code ends its process"""
LIMITS = Limits()
assert LIMITS.memory_bytes > LEAST_MEMORY_BYTES


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of one input in a child."""

    outcome: str
    """READ, REFUSED, OVER_LIMIT or BROKEN"""
    seconds: float
    fault: str = ""
    resident_bytes: int = 0
    lines: Lines | None = None


def load_readers() -> None:
    """Import what reads, and fill its caches, so that forked children have it."""
    for path in LOADED_FIRST:
        module, _, name = path.partition(":")
        loaded = importlib.import_module(module)
        if name:
            getattr(loaded, name)()


def read_batch(batch: Sequence[Input], recorder: Recorder | None) -> Iterator[tuple[Input, Ended]]:
    """Read the inputs in forked children; a child that ends early is followed by another for the rest."""
    left = list(batch)
    while left:
        for ended in _child_over(left, recorder):
            yield left.pop(0), ended


def _child_over(batch: Sequence[Input], recorder: Recorder | None) -> Iterator[Ended]:
    """The ends of the first inputs of `batch`, at least one of them."""
    reading_end, writing_end = os.pipe()
    with tempfile.TemporaryDirectory(prefix="placeto-fuzz-") as folder, tempfile.TemporaryFile() as log:
        child = os.fork()
        if child == 0:
            os.close(reading_end)
            _be_child(batch, recorder, Path(folder), writing_end, log)
        os.close(writing_end)
        with os.fdopen(reading_end, "rb", buffering=0) as pipe:
            began, count = time.monotonic(), 0
            for line in _lines(pipe):
                row = json.loads(line)
                lines = {path: set(numbers) for path, numbers in row.pop("lines").items()}
                yield Ended(**row, lines=lines)
                began, count = time.monotonic(), count + 1
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if count < len(batch):
            log.seek(0)
            yield _early_end(status, time.monotonic() - began, log.read()[-LOG_TAIL_BYTES:])


def _early_end(status: int, seconds: float, tail: bytes) -> Ended:
    if seconds >= SLOWEST_SECONDS:
        return Ended(BROKEN, seconds, f"more than {SLOWEST_SECONDS:g} s")
    if any(mark in tail for mark in OUT_OF_MEMORY_MARKS):
        return Ended(OVER_LIMIT, seconds)
    said = [line.strip() for line in tail.decode(errors="replace").splitlines() if line.strip()]
    why = next((line for line in said if any(mark in line for mark in LAST_WORDS)), said[-1] if said else "")
    return Ended(BROKEN, seconds, f"the child ended with {status}: {why.rpartition('] ')[2][-150:]}")


def _lines(pipe: IO[bytes]) -> Iterator[bytes]:
    """Lines until the pipe is closed or nothing comes for too long."""
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while selector.select(SLOWEST_SECONDS):
            chunk = os.read(pipe.fileno(), 1 << 20)
            if not chunk:
                return
            *lines, pending = (pending + chunk).split(b"\n")
            yield from lines


def _be_child(batch: Sequence[Input], recorder: Recorder | None, folder: Path, pipe: int, log: IO[bytes]) -> NoReturn:
    """Read the inputs one by one; report each on the pipe."""
    try:
        bind_to_parent(os.getppid())
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        _bind_to_limits()
        if recorder is not None:
            recorder.start()
        for number, tried in enumerate(batch):
            place = folder / str(number)
            place.mkdir()
            ended = _ended(tried, place)
            lines = {path: sorted(new) for path, new in recorder.new_lines().items()} if recorder is not None else {}
            row = {"outcome": ended.outcome, "seconds": ended.seconds, "fault": ended.fault, "lines": lines}
            text = json.dumps(row | {"resident_bytes": memory_bytes(os.getpid(), "VmHWM")}) + "\n"
            os.set_blocking(pipe, True)
            _write_all(pipe, text.encode())
            shutil.rmtree(place)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _write_all(pipe: int, content: bytes) -> None:
    while content:
        content = content[os.write(pipe, content) :]


def _ended(tried: Input, folder: Path) -> Ended:
    Path("/proc/self/clear_refs").write_text("5")  # the peak of resident memory begins anew
    began = time.monotonic()
    try:
        read_input(tried, folder)
        outcome, fault = READ, ""
    except ChildError as error:
        outcome, fault = BROKEN, str(error)
    except LimitError:
        outcome, fault = OVER_LIMIT, ""
    except PlacetoError as error:
        outcome, fault = REFUSED, fault_of_sentence(str(error))
    except MemoryError:
        outcome, fault = OVER_LIMIT, ""
    except Exception as error:
        outcome, fault = BROKEN, described(error)
    seconds = time.monotonic() - began
    if fault:
        outcome = BROKEN
    return Ended(outcome, seconds, fault)


def described(error: BaseException) -> str:
    """Type, text and innermost place in our own code."""
    root = str(Path(__file__).parents[2])
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(root)]
    own = [frame for frame in frames if "/.venv/" not in frame.filename and "/tests/" not in frame.filename]
    place = (own or frames)[-1]
    where = f"{place.filename.removeprefix(root + '/')}:{place.lineno}"
    return f"{type(error).__name__} at {where}"


def _bind_to_limits() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory_bytes = LIMITS.memory_bytes + pages * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * LIMITS.file_bytes, 4 * LIMITS.file_bytes))


def confirmed(tried: Input) -> tuple[str, str]:
    """(outcome, broken promise or last words) of the input in a child as the application starts it."""
    limits = replace(LIMITS, seconds=2 * SLOWEST_SECONDS)
    try:
        run_in_child("tests.fuzz.reading:read_in_one_child", as_order(tried), limits, task="reading the graph")
    except TimeLimitError:
        return BROKEN, f"more than {limits.seconds:g} s"
    except LimitError:
        return OVER_LIMIT, ""
    except ChildError as error:
        return (ABORTED if ABORT in str(error) else BROKEN), str(error)
    except PlacetoError as error:
        fault = fault_of_sentence(str(error))
        return (BROKEN if fault else REFUSED), fault
    return READ, ""


class Reader:
    """Reads batches of mutated inputs until its time is up, and reports on standard output."""

    def __init__(self, order: dict[str, Any], recorder: Recorder) -> None:
        self._seed, self._until = str(order["seed"]), time.time() + float(order["seconds"])
        self._samples, self._faults = Path(order["samples"]), Path(order["out"]) / "faults"
        self._corpus = seeds_of(self._samples)
        self._seeds = len(self._corpus)
        self._recorder = recorder
        self._lines: Lines = {}
        self._tally = Tally()

    def run(self) -> None:
        """Read until the time is up."""
        self._note(self._recorder.new_lines())
        self._read(self._corpus[:])
        number, reported = 0, 0.0
        while time.time() < self._until:
            batch = [mutated(self._corpus, self._seed, number + index) for index in range(BATCH)]
            number += BATCH
            self._read(batch)
            if time.time() - reported > SECONDS_BETWEEN_REPORTS:
                reported = time.time()
                self._report()
        self._report()

    def _read(self, batch: list[Input]) -> None:
        for tried, ended in read_batch(batch, self._recorder):
            outcome, fault = ended.outcome, ended.fault
            if outcome == BROKEN:
                outcome, sentence = confirmed(tried)
                if outcome == ABORTED:
                    self._tally.add_abort(sentence, tried, self._faults)
                fault = fault if outcome == BROKEN else ""  # it names the place
            self._tally.add(tried, outcome, ended.seconds, ended.resident_bytes)
            if fault:
                self._tally.add_fault(fault, tried, self._faults)
            if self._note(ended.lines or {}) and len(tried.content) <= MOST_CORPUS_BYTES:
                self._corpus.append(tried)

    def _note(self, lines: Lines) -> bool:
        """Whether some of the lines are new."""
        is_new = False
        for path, numbers in lines.items():
            known = self._lines.setdefault(path, set())
            if not numbers <= known:
                known |= numbers
                is_new = True
        return is_new

    def _report(self) -> None:
        lines = {path: sorted(numbers) for path, numbers in self._lines.items()}
        row = {"tally": self._tally.to_json(), "lines": lines, "corpus": len(self._corpus) - self._seeds}
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


def run(order: dict[str, Any], recorder: Recorder) -> None:
    """Load what reads, with `recorder` on; carry out the order."""
    load_readers()
    recorder.stop()
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise SystemExit("a loaded module has started threads: this process cannot fork")
    Reader(order, recorder).run()
