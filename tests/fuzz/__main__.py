"""The command: `python -m tests.fuzz --seconds 3600 --seed 0`. Its exit status is 1 if a promise was broken."""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

from engine.child.parent import environment_of_children
from engine.child.warm import ONE_THREAD
from tests.chaos.site import Site
from tests.fuzz.inputs import Input
from tests.fuzz.mutating import mutated
from tests.fuzz.outcomes import BROKEN, READ, Tally
from tests.fuzz.readings import LIMITS, confirmed
from tests.fuzz.report import lines_of_coverage, lines_of_tally
from tests.fuzz.resident_memory import CHILDREN, MemoryWatch
from tests.fuzz.seeds import build_samples, seeds_of
from tests.fuzz.sending import ask
from tests.fuzz.uploads import Uploads, bounded
from tests.supervisor.started import ROOT

TRACEBACK = "Traceback (most recent call last)"
PROCESS_ENDED = "WorkerLostError"


class ReaderProcess:
    """A process of `readings.py`, with its reports in a file."""

    def __init__(self, number: int, options: argparse.Namespace, samples: Path) -> None:
        self._reports = options.out / f"reader-{number}.jsonl"
        order = {
            "parent": os.getpid(),
            "seed": f"{options.seed}-{number}",
            "seconds": options.seconds,
            "samples": str(samples),
            "out": str(options.out),
        }
        with self._reports.open("w") as reports, (options.out / f"reader-{number}.log").open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.reader_process"],
                stdin=subprocess.PIPE,
                stdout=reports,
                stderr=log,
                cwd=ROOT,
                env={**environment_of_children(options.out), **ONE_THREAD},
            )
        assert self._process.stdin is not None
        with self._process.stdin as pipe:
            pipe.write(json.dumps(order).encode() + b"\n")

    def end(self) -> None:
        """Let it end, as it does by itself soon after its time is up."""
        try:
            self._process.wait(120.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def result(self) -> tuple[Tally, dict[str, list[int]], int]:
        """Figures, lines that ran, inputs that joined the corpus. Raises RuntimeError where it ended by a fault."""
        rows = self._reports.read_text().splitlines()
        if self._process.returncode != 0 or not rows:
            raise RuntimeError(
                f"a reader ended with status {self._process.returncode}; its log is beside {self._reports}"
            )
        row = json.loads(rows[-1])
        return Tally.from_json(row["tally"]), row["lines"], row["corpus"]


def fuzz(options: argparse.Namespace) -> int:
    """Fuzz both targets; print the report; return the exit status."""
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}, {options.seconds:g} s, results in {options.out}", flush=True)
    samples = options.out / "samples"
    build_samples(samples)
    seeds = seeds_of(samples)
    readers = [ReaderProcess(number, options, samples) for number in range(options.readers)]
    try:
        broken = _fuzz_application(options, seeds) if options.senders else 0
    finally:
        for reader in readers:
            reader.end()
    return 1 if _report_readers(readers) + broken else 0


def _report_readers(readers: list[ReaderProcess]) -> int:
    """Print the figures of the readers; return how many promises they saw broken."""
    tally, seen, joined = Tally(), dict[str, set[int]](), 0
    for reader in readers:
        figures, lines, corpus = reader.result()
        tally.merge(figures)
        joined += corpus
        for path, numbers in lines.items():
            seen.setdefault(path, set()).update(numbers)
    if readers:
        print("\nReading functions, in forked children")
        print("\n".join(lines_of_tally(tally)))
        print(f"{joined} inputs ran new lines and joined the corpora")
        print("\n".join(lines_of_coverage(seen)), flush=True)
    return len(tally.faults)


def _fuzz_application(options: argparse.Namespace, seeds: list[Input]) -> int:
    """Start the application, send seeds and mutated inputs, stop it; return how many promises were broken."""
    folder = options.out / f"site-{int(time.time())}"
    folder.mkdir()
    site = Site(folder, {})
    try:
        site.start()
        guardian = site.find("guardian")
        assert guardian is not None, "it has just been started"
        with MemoryWatch(guardian) as memory:
            uploads = Uploads(site.port, iter(seeds), options.out / "faults")
            uploads.run(options.senders)
            refused = [name for name in uploads.tally.outcomes if not name.endswith(f": {READ}")]
            print(f"{uploads.tally.inputs} seeds sent unmutated, refused: {', '.join(refused) or 'none'}", flush=True)
            if refused:
                print("\n".join(lines_of_tally(uploads.tally)))
                return 1
            until = time.time() + options.seconds
            mutants = bounded(_inputs(seeds, f"{options.seed}-http"), until)
            fuzzed = Uploads(site.port, mutants, options.out / "faults")
            fuzzed.run(options.senders)
        faults = _faults_at_the_end(site, memory)
    finally:
        site.end()
    print("\nThe application, over HTTP")
    print("\n".join(lines_of_tally(fuzzed.tally)))
    print(f"{fuzzed.busy} answers 503 with Retry-After, sent once more")
    for part, size in sorted(memory.largest_bytes.items()):
        print(f"largest resident memory, {part}: {size / 1e6:.0f} MB")
    for fault in faults:
        print(f"BROKEN at the end: {fault}")
    print(end="", flush=True)
    return len(fuzzed.tally.faults) + len(faults)


def _faults_at_the_end(site: Site, memory: MemoryWatch) -> list[str]:
    """Stop the application; what it has left, and the faults in its logs."""
    faults = []
    if ask(site.port, "GET", "/health/ready").status != HTTPStatus.OK:
        faults.append("the application does not answer")
    if left := site.left_uploads():
        faults.append(f"{len(left)} files in incoming/")
    site.stop()
    if processes := site.processes():
        faults.append(f"processes left over: {processes}")
    logs = sorted((site.data_folder / "logs").glob("*"))
    faults += [f"a traceback in {log}" for log in logs if _has_traceback(log.read_text(errors="replace"))]
    child = memory.largest_bytes.get(CHILDREN, 0)
    if child > LIMITS.memory_bytes:
        faults.append(f"a child held {child} bytes; its limit is {LIMITS.memory_bytes}")
    return faults


def _has_traceback(log: str) -> bool:
    """Whether the log holds a traceback other than Celery's of a process that a deleted run has ended."""
    return any(PROCESS_ENDED not in after[:1000] for after in log.split(TRACEBACK)[1:])


def _inputs(seeds: list[Input], seed: str) -> Iterator[Input]:
    return (mutated(seeds, seed, number) for number in itertools.count())


def repeat(path: Path) -> int:
    """Read one saved input in a child of the engine's; return the exit status."""
    tried = Input.from_json(path.read_text())
    print(f"{tried.format}, {len(tried.content)} bytes, fields {dict(tried.fields)}, made by {tried.made}")
    outcome, fault = confirmed(tried)
    print(f"{outcome}: {fault}" if fault else outcome)
    return 1 if outcome == BROKEN else 0


def main() -> int:
    """Read the arguments and carry them out."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long to send inputs")
    parser.add_argument("--seed", default=str(random.randrange(10**6)), help="of the random generators; default: drawn")
    parser.add_argument("--readers", type=int, default=1, help="processes that read without HTTP")
    parser.add_argument("--senders", type=int, default=2, help="uploads at once; 0: no application")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz", help="folder for all that is written")
    parser.add_argument("--repeat", type=Path, metavar="FILE", help="read one saved input, and nothing else")
    options = parser.parse_args()
    options.out = options.out.absolute()
    return repeat(options.repeat) if options.repeat else fuzz(options)


if __name__ == "__main__":
    sys.exit(main())
