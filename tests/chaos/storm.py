"""Kills parts at random moments while jobs run, and measures how soon work goes on."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.chaos.jobs import Follower, Job, Kind, Material, NotWholeError, State
from tests.chaos.site import Site
from tests.chaos.visitor import UnreachableError

PATIENCE_SECONDS = 300.0
"""longest time for work to go on, and for a job to start"""
LAST_JOBS_SECONDS = 1200.0
"""longest time for the jobs in progress to end after the last kill"""
LONGEST_PAUSE_SECONDS = 6.0
"""between the moment when work goes on and the next kill"""
LONGEST_MOMENT_SECONDS = 1.5
"""between the start of a short job and the kill of its worker"""

UPLOAD = "web in an upload"
"""a kill of the web server while it receives a file"""


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill, and what followed."""

    part: str
    seconds: float
    """until a viewer saw work go on"""
    restarts: int
    """of the whole application, which had ended"""


@dataclass
class Ended:
    """The jobs of one kind that have ended."""

    whole: int = 0
    faults: list[str] = field(default_factory=list)


class Storm:
    """Jobs without end, and kills."""

    def __init__(
        self,
        site: Site,
        material: Material,
        kinds: Sequence[Kind],
        report: Callable[[str], None],
        longest_pause_seconds: float = LONGEST_PAUSE_SECONDS,
    ) -> None:
        """`kinds`: of the jobs; `report` gets a line for each kill."""
        self._site, self._material, self._kinds, self._report = site, material, kinds, report
        self._longest_pause_seconds = longest_pause_seconds
        self._expected: dict[str, Any] = {}
        self._jobs: list[Job] = []
        self.kills: list[Kill] = []
        self.ended: dict[str, Ended] = {kind.name: Ended() for kind in kinds}

    def learn_answers(self) -> None:
        """Do one job of each kind without any kill: its answer is expected from all later ones."""
        for kind in self._kinds:
            began = time.monotonic()
            job = self._start(kind, followed=False)
            self._wait_for_end(job)
            job.check(self._site.visitor, None)
            self._expected[kind.name] = kind.answer(self._site.visitor, job.path)
            self._report(f"{kind.name}: done in {time.monotonic() - began:.0f} s without a kill")

    def kill(self, parts: Sequence[str]) -> None:
        """Kill each of `parts` in turn, at a random moment of the work."""
        for part in parts:
            self._wait_for_a_moment_of_work()
            starts = self._site.starts
            seconds = self._kill_in_an_upload() if part == UPLOAD else self._kill(part)
            if seconds is None:
                self._report(f"{part}: none at the moment")
                continue
            self.kills.append(Kill(part, seconds, self._site.starts - starts))
            self._report(f"{len(self.kills)}. {part}: work goes on after {seconds:.1f} s")

    def finish(self) -> None:
        """Wait for the jobs in progress, and check them."""
        for job in list(self._jobs):
            self._wait_for_end(job)
        self._check_ended()

    def _kill(self, part: str) -> float | None:
        queue = part.partition(" ")[0]
        watched = self._begin(queue) if queue in ("cpu", "execute") else None
        began = time.monotonic()
        if not self._site.kill(part):
            return None
        self._wait_for_progress(watched)
        return time.monotonic() - began

    def _kill_in_an_upload(self) -> float | None:
        """Kill the web server when half of a file has arrived; the user then sends it again."""
        path = f"{self._material.project}graphs/"
        connection = self._site.visitor.begin_upload(
            path, "half.json", self._material.file, len(self._material.file) // 2
        )
        time.sleep(0.2)
        began = time.monotonic()
        found = self._site.kill("web")
        connection.close()
        self._begin("cpu")
        return time.monotonic() - began if found else None

    def _begin(self, queue: str) -> Job:
        """Start the job whose worker listens to `queue`, and wait a moment. An earlier one has ended then."""
        for job in [job for job in self._jobs if job.kind.queue == queue]:
            self._wait_for_end(job)
        job = self._start(next(kind for kind in self._kinds if kind.queue == queue), followed=False)
        self._jobs.append(job)
        time.sleep(random.uniform(0.0, min(LONGEST_MOMENT_SECONDS, self._longest_pause_seconds)))
        return job

    def _start(self, kind: Kind, *, followed: bool) -> Job:
        path = self._patiently(partial(kind.start, self._site.visitor, self._material))
        return Job(kind, path, Follower(self._site.visitor, path) if followed and kind.has_events else None)

    def _wait_for_a_moment_of_work(self) -> None:
        """Wait a random time into the work, while some of it is still in progress."""
        while True:
            self._keep_busy()
            self._wait_for_progress(None)
            time.sleep(random.uniform(0.0, self._longest_pause_seconds))
            if not all(self._patiently(partial(self._state, job)).has_ended for job in self._with_numbers()):
                return

    def _keep_busy(self) -> None:
        """Check the jobs that have ended, and start another of each kind that has none."""
        self._check_ended()
        for kind in self._kinds:
            if kind.queue == "gpu" and not any(job.kind is kind for job in self._jobs):
                self._jobs.append(self._start(kind, followed=True))

    def _check_ended(self) -> None:
        for job in list(self._jobs):
            if self._patiently(partial(self._state, job)).has_ended:
                self._jobs.remove(job)
                self._check(job)

    def _check(self, job: Job) -> None:
        ended = self.ended[job.kind.name]
        try:
            self._patiently(partial(job.check, self._site.visitor, self._expected.get(job.kind.name)))
            ended.whole += 1
        except NotWholeError as error:
            ended.faults.append(str(error))
            self._report(str(error))

    def _wait_for_progress(self, watched: Job | None) -> None:
        """Wait until `watched` has ended, or, without one, until any run or training emits an event or ends."""
        before: dict[str, State] = {}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            self._site.start_again_if_ended()
            try:
                now = {job.path: self._state(job) for job in ([watched] if watched else self._with_numbers())}
            except UnreachableError:
                now = {}
            before = before or now
            if now and (_went_on(before, now) if watched is None else now[watched.path].has_ended):
                return
            if watched is None and now and all(state.has_ended for state in now.values()):
                return  # nothing is left to watch
            time.sleep(0.05)
        raise TimeoutError(f"no work goes on after {PATIENCE_SECONDS:g} s")

    def _state(self, job: Job) -> State:
        return job.kind.state(self._site.visitor, job.path)

    def _with_numbers(self) -> list[Job]:
        """The jobs in progress that count their events or changes."""
        return [job for job in self._jobs if job.kind.queue == "gpu"]

    def _wait_for_end(self, job: Job) -> None:
        deadline = time.monotonic() + LAST_JOBS_SECONDS
        while time.monotonic() < deadline:
            if self._patiently(partial(self._state, job)).has_ended:
                return
            time.sleep(0.2)
        raise TimeoutError(f"{job.kind.name} {job.path} has not ended after {LAST_JOBS_SECONDS:g} s")

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        """The answer of `ask`, asked again while the application is away."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return ask()
            except UnreachableError:
                if time.monotonic() > deadline:
                    raise
                self._site.start_again_if_ended()
                time.sleep(0.1)


def _went_on(before: Mapping[str, State], now: Mapping[str, State]) -> bool:
    """Whether a job has come further since, or has ended."""
    return any(
        state.last_seq > before[path].last_seq or (state.has_ended and not before[path].has_ended)
        for path, state in now.items()
    )
