"""A warm process that works on one case after another, each in a forked child with limits.

Libraries load once: what a child needs is there when it is forked. `Forks` starts the warm process, which reads a case
a line and writes the messages of its child, then how the child ended.
"""

import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, TypeAlias

from engine.errors import ChildError
from experiments.folders import ROOT

CLIENT = ROOT / "client"
STEP, ROW = "step", "row"
"""keys of messages of children that tell each step as it begins, and a row"""
START = "start"
"""the step of a child that ended before it told one"""
END, PROCESSOR_SECONDS = "end", "processor_seconds"
"""keys of the last message of a case"""
ENVIRONMENT = ("KERAS_BACKEND=torch", "CUDA_VISIBLE_DEVICES=", "OMP_NUM_THREADS=1", "TOKENIZERS_PARALLELISM=false")
"""for libraries that read their settings there alone: recordings need no device and one thread"""
PIECE_BYTES = 65_536
Tell: TypeAlias = Callable[[Mapping[str, Any]], None]
"""takes one message, an object of JSON"""


@dataclass(frozen=True, slots=True)
class ForkLimits:
    """What one case may use."""

    processor_seconds: int
    memory_bytes: int
    waits: int = 4
    """times its processor seconds that a child may take on a busy machine"""


class Forks:
    """A warm process; use it with `with`, which ends it."""

    def __init__(self, function: str, limits: ForkLimits) -> None:
        """`function` is `module:name`: it gets a case and `Tell`; `warm_up()` of its module runs first, once."""
        self._arguments = [function, json.dumps(asdict(limits))]

    def __enter__(self) -> "Forks":
        command = ["env", *ENVIRONMENT, sys.executable, "-m", __name__, *self._arguments]
        self._process = subprocess.Popen(  # noqa: S603  # our own words
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        if error is not None:
            self._process.terminate()
        self._process.wait()

    def messages(self, case: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The messages of the child that works on `case`; the last one has `END`: None, or a sentence why it ended.

        Raises ChildError where the warm process itself has ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            message: dict[str, Any] = json.loads(line)
            yield message
            if END in message:
                return
        raise ChildError("the warm process has ended", where=self._arguments[0])


def row_of_case(forks: Forks, case: Mapping[str, Any]) -> dict[str, Any]:
    """The row that a child tells; `failed`, the step, and a `sentence` where it has ended before."""
    step, row, sentence = START, None, None
    for message in forks.messages(case):
        step, row, sentence = message.get(STEP, step), message.get(ROW, row), message.get(END)
    return row or {"failed": step, "sentence": sentence or "its child told nothing of it"}


def serve(function: str, limits: ForkLimits) -> None:
    """What the warm process does until its input ends."""
    module_name, _, name = function.partition(":")
    out = os.dup(1)
    _silence()
    module = importlib.import_module(module_name)
    module.warm_up()
    work: Callable[[Mapping[str, Any], Tell], None] = getattr(module, name)
    for line in sys.stdin:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _work(work, json.loads(line), write, limits)
        os.close(write)
        sentence = _pass_on(read, out, child, limits)
        os.close(read)
        _, status, used = os.wait4(child, 0)
        end = {END: sentence or _why(status, limits), PROCESSOR_SECONDS: round(used.ru_utime + used.ru_stime, 2)}
        os.write(out, (json.dumps(end) + "\n").encode())


def _silence() -> None:
    """What libraries say goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _work(
    work: Callable[[Mapping[str, Any], Tell], None], case: Mapping[str, Any], write: int, limits: ForkLimits
) -> None:
    """The whole life of a child."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limits.processor_seconds, limits.processor_seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (limits.memory_bytes, limits.memory_bytes))
        work(case, lambda message: _write_whole(write, (json.dumps(message) + "\n").encode()))
        status = 0
    finally:
        os._exit(status)


def _write_whole(file: int, text: bytes) -> None:
    while text:
        text = text[os.write(file, text) :]


def _pass_on(read: int, out: int, child: int, limits: ForkLimits) -> str | None:
    """Write whole lines of a child to `out` until it ends; the sentence where it is ended."""
    last = time.monotonic() + limits.waits * limits.processor_seconds
    rest = b""
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, last - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            return f"it takes longer than {limits.waits * limits.processor_seconds} s"
        piece = os.read(read, PIECE_BYTES)
        if not piece:
            return None
        whole, newline, rest = (rest + piece).rpartition(b"\n")
        _write_whole(out, whole + newline)


def _why(status: int, limits: ForkLimits) -> str | None:
    """Why a child ended before its work did; None where it did not."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return f"it takes more than {limits.processor_seconds} s of a processor"
    return None if status == 0 else "its process died"


def main(function: str, limits: str) -> None:
    """Serve with limits as JSON."""
    sys.path.insert(0, str(CLIENT))
    serve(function, ForkLimits(**json.loads(limits)))


if __name__ == "__main__":
    main(*sys.argv[1:])
