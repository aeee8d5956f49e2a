"""Target 1: the real application over HTTP, as users reach it.

Each sender sends one input at a time. What the application accepts is followed until a worker has read it; then its
pages are loaded, and it is deleted.
"""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from tests.fuzz.inputs import CLUSTER, GRAPH, POLICY, Input
from tests.fuzz.outcomes import ABORT, ABORTED, BROKEN, OVER_LIMIT, READ, REFUSED, SLOWEST_SECONDS, Tally
from tests.fuzz.sending import Answer, ask, send_files, send_form
from tests.fuzz.sentences import fault_of_sentence
from tests.webapp.graph_files import graphdef

LONGEST_READING_SECONDS = 180.0
"""until an accepted graph has been read, others before it included"""
MOST_WAITING = 12
"""accepted graphs that have not been read; senders wait above it"""
SECONDS_BETWEEN_LOOKS = 0.25
CHILD_DIED = "the process ended with"
"""words of a sentence about a child that crashed: a fault of ours, not of the file"""
A_RUN = {"method": "random", "evaluations": "4", "seed": "0"}
BUSY = HTTPStatus.SERVICE_UNAVAILABLE


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An accepted graph."""

    tried: Input
    answer_seconds: float
    since: float


class Uploads:
    """Sends inputs to the application at `port`."""

    def __init__(self, port: int, inputs: Iterator[Input], faults: Path) -> None:
        self.tally = Tally()
        self.busy = 0
        """answers 503 with Retry-After: the input was sent once more"""
        self._port, self._inputs, self._faults = port, inputs, faults
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._over = threading.Event()
        project = self._must(send_form(port, "/projects/", {"name": "fuzz"})).location
        self._project = project.strip("/").rpartition("/")[2]
        self._graph = self._ready_graph()

    def run(self, senders: int) -> None:
        """Send all inputs, and wait until the accepted ones have been read."""
        threads = [threading.Thread(target=self._send_all) for _ in range(senders)]
        follower = threading.Thread(target=self._follow)
        for thread in [*threads, follower]:
            thread.start()
        for thread in threads:
            thread.join()
        self._over.set()
        follower.join()

    def _must(self, answer: Answer) -> Answer:
        assert answer.status in (HTTPStatus.OK, HTTPStatus.FOUND), answer
        return answer

    def _ready_graph(self) -> str:
        """The path of a graph on which runs can be started."""
        files = {"file": ("good.pb", graphdef())}
        path = self._must(send_files(self._port, f"/projects/{self._project}/graphs/", files, {})).location
        deadline = time.monotonic() + LONGEST_READING_SECONDS
        while json.loads(self._must(ask(self._port, "GET", f"{path}status.json")).body)["status"] != "ready":
            assert time.monotonic() < deadline, "a good graph is read"
            time.sleep(SECONDS_BETWEEN_LOOKS)
        return path

    def _send_all(self) -> None:
        while True:
            while len(self._waiting) > MOST_WAITING:
                time.sleep(SECONDS_BETWEEN_LOOKS)
            with self._lock:
                tried = next(self._inputs, None)
            if tried is None:
                return
            answer = self._send(tried)
            while answer.status == BUSY and answer.retry_after:
                self.busy += 1
                time.sleep(float(answer.retry_after))
                answer = self._send(tried)
            self._take(tried, answer)

    def _send(self, tried: Input) -> Answer:
        if tried.kind == CLUSTER:
            fields = {**A_RUN, "cluster": tried.content.decode("utf-8", "replace")}
            return send_form(self._port, f"{self._graph}runs/", fields)
        name = f"{tried.fields.get('filename', 'fuzzed')}{tried.suffix}"
        files = {"file": (name, tried.content)}
        if tried.kind == POLICY:
            return send_files(self._port, "/policies/upload/", files, {})
        if tried.times:
            files["run_metadata"] = (f"times{'.json' if tried.suffix == '.json' else '.pb'}", tried.times)
        fields = {"groups": "128", **tried.fields}
        return send_files(self._port, f"/projects/{self._project}/graphs/", files, fields)

    def _take(self, tried: Input, answer: Answer) -> None:
        if answer.status != HTTPStatus.FOUND:
            self._count(tried, *_refusal(answer), answer.seconds)
        elif tried.kind == GRAPH:
            with self._lock:
                key = answer.location.strip("/").rpartition("/")[2].replace("-", "")
                self._waiting[key] = _Waiting(tried, answer.seconds, time.monotonic())
        else:
            fault = self._fault_of_pages([answer.location]) or self._fault_of_removal(answer.location)
            self._count(tried, BROKEN if fault else READ, fault, answer.seconds)

    def _follow(self) -> None:
        """Look after the accepted graphs until all have been read."""
        while self._waiting or not self._over.is_set():
            time.sleep(SECONDS_BETWEEN_LOOKS)
            with self._lock:
                waiting = dict(self._waiting)
            if not waiting:
                continue
            answer = ask(self._port, "GET", f"/states.json?graph={','.join(waiting)}")
            if answer.status != HTTPStatus.OK:
                tried = next(iter(waiting.values())).tried
                self._count(tried, BROKEN, f"states.json answered {answer.status}", answer.seconds)
                continue
            states = json.loads(answer.body)["graph"]
            for key, one in waiting.items():
                self._look(key, one, states.get(key, {"status": "gone"}))

    def _look(self, key: str, one: _Waiting, state: dict[str, str]) -> None:
        status = state["status"]
        if status not in ("ready", "failed", "gone") and time.monotonic() - one.since < LONGEST_READING_SECONDS:
            return
        path = f"/graphs/{_dashed(key)}/"
        outcome, fault = BROKEN, f"the graph is {status} after {LONGEST_READING_SECONDS:g} s"
        if status == "failed":
            outcome, fault = self._failure(one.tried, state["error"])
        elif status == "ready":
            fault = self._fault_of_pages([path, f"{path}view.json"])
            outcome = BROKEN if fault else READ
        fault = fault or self._fault_of_removal(path)
        self._count(one.tried, outcome, fault, one.answer_seconds)
        with self._lock:
            del self._waiting[key]

    def _failure(self, tried: Input, sentence: str) -> tuple[str, str]:
        """(outcome, broken promise) of a graph that could not be read."""
        if fault := fault_of_sentence(sentence) or (sentence if CHILD_DIED in sentence else ""):
            return BROKEN, fault
        if ABORT in sentence:
            with self._lock:
                self.tally.add_abort(sentence, tried, self._faults)
            return ABORTED, ""
        return (OVER_LIMIT if "took too" in sentence or "allowed: at most" in sentence else REFUSED), ""

    def _fault_of_pages(self, paths: list[str]) -> str:
        for path in paths:
            answer = ask(self._port, "GET", path, page=not path.endswith(".json"))
            if answer.status != HTTPStatus.OK:
                return f"its page answered {answer.status}"
            if answer.seconds > SLOWEST_SECONDS:
                return f"its page took more than {SLOWEST_SECONDS:g} s"
        return ""

    def _fault_of_removal(self, path: str) -> str:
        answer = send_form(self._port, f"{path}delete/", {})
        if path.startswith("/policies/") and answer.status == HTTPStatus.CONFLICT:
            return ""
        return "" if answer.status == HTTPStatus.FOUND else f"deleting it answered {answer.status}"

    def _count(self, tried: Input, outcome: str, fault: str, seconds: float) -> None:
        if seconds > SLOWEST_SECONDS:
            outcome, fault = BROKEN, fault or f"an answer after more than {SLOWEST_SECONDS:g} s"
        with self._lock:
            self.tally.add(tried, BROKEN if fault else outcome, seconds)
            if fault:
                self.tally.add_fault(fault, tried, self._faults)


def _refusal(answer: Answer) -> tuple[str, str]:
    """(outcome, broken promise) of an answer that accepts nothing."""
    if answer.status == 0:
        return BROKEN, f"no answer: {answer.body.decode(errors='replace')[:100]}"
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return BROKEN, f"the answer {answer.status}"
    try:
        sentences = answer.sentences()
    except (ValueError, KeyError, AttributeError):
        return BROKEN, f"the answer {answer.status} without sentences"
    for sentence in sentences:
        fault = fault_of_sentence(sentence) or (sentence if CHILD_DIED in sentence else "")
        if fault:
            return BROKEN, fault
    limited = answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    return (OVER_LIMIT if limited else REFUSED), "" if sentences else f"the answer {answer.status} without sentences"


def _dashed(key: str) -> str:
    return f"{key[:8]}-{key[8:12]}-{key[12:16]}-{key[16:20]}-{key[20:]}"


def bounded(inputs: Iterator[Input], until: float) -> Iterator[Input]:
    """The inputs until the clock says `until`."""
    for tried in inputs:
        if time.time() >= until:
            return
        yield tried
