"""Workers and brokers die; runs do not."""

import os
import signal
from pathlib import Path

from tests.supervisor.started import eventually
from tests.webapp.processes import Surroundings, logs
from tests.webapp.scripted_engine import CHECKPOINT_EVERY, EPISODES, rows
from webapp.jobs.cancelling import cancel
from webapp.processes import DRAIN_SIGNAL, descendants
from webapp.runs.models import Run

SCRIPTED = "tests.webapp.scripted_worker"
WHOLE = [
    (1, "started"),
    *[(1 + number, "episode") for number in range(1, EPISODES + 1)],
    (2 + EPISODES, "finished"),
]


def lives(data_folder: Path) -> list[list[int]]:
    """The episodes that each process has done, processes in the order in which they came."""
    of_process: dict[str, list[int]] = {}
    for line in (data_folder / "lives").read_text().splitlines():
        process, _, episode = line.partition(" ")
        of_process.setdefault(process, []).append(int(episode))
    return list(of_process.values())


def wait_for_status(run: Run, data_folder: Path, *statuses: str) -> None:
    """Wait until the run has one of these."""

    def holds() -> bool:
        run.refresh_from_db()
        return run.status in statuses

    try:
        eventually(holds, f"the run is {statuses}")
    except AssertionError as error:
        raise AssertionError(f"{error}; it is {run.status}\n{logs(data_folder)}") from None


def wait_for_events(run: Run, count: int) -> None:
    """Wait until so many are stored."""
    eventually(lambda: run.events.count() >= count, f"{count} events are stored")


def test_a_run_survives_sigkill_of_its_worker_whole(around: Surroundings, run: Run, data_folder: Path) -> None:
    around.start_redis()
    worker = around.start_worker("gpu", SCRIPTED)
    wait_for_events(run, 30)
    children = descendants(worker.pid)
    worker.signal(signal.SIGKILL)
    worker.exit_status()
    eventually(lambda: not any(Path(f"/proc/{child}/task").exists() for child in children), "its children end with it")
    stored = run.events.count()
    run.refresh_from_db()
    assert run.status == Run.RUNNING, "nobody is there to say otherwise"

    around.start_worker("gpu", SCRIPTED)
    wait_for_status(run, data_folder, Run.DONE, Run.FAILED)
    assert rows(run) == WHOLE
    assert (run.status, run.attempts, run.last_seq) == (Run.DONE, 2, len(WHOLE))
    _, (began_again, *_) = lives(data_folder)
    assert began_again % CHECKPOINT_EVERY == 1
    assert began_again > CHECKPOINT_EVERY, "it went on from a checkpoint, not from the start"
    assert stored < len(WHOLE)


def test_a_worker_that_is_shown_to_end_gives_its_run_back_at_once(
    around: Surroundings, run: Run, data_folder: Path
) -> None:
    around.start_redis()
    worker = around.start_worker("gpu", SCRIPTED)
    wait_for_events(run, 30)
    worker.signal(signal.SIGTERM)
    worker.exit_status()
    run.refresh_from_db()
    assert (run.status, run.attempts) == (Run.QUEUED, 0), logs(data_folder)
    worker.expect_nothing_left()

    around.start_worker("gpu", SCRIPTED)
    wait_for_status(run, data_folder, Run.DONE, Run.FAILED)
    assert rows(run) == WHOLE
    assert run.attempts == 1


def test_a_worker_whose_run_takes_no_notice_ends_all_the_same(
    around: Surroundings, run: Run, data_folder: Path
) -> None:
    """As docs/operations.md starts one. A run in compiled code may lose the exit that a signal raises.

    `python -m tests.chaos.stops` does it with each signal.
    """
    around.start_redis()
    worker = around.start_worker_as_documented("gpu", "tests.webapp.deaf_worker")
    wait_for_events(run, 3)
    worker.signal(signal.SIGTERM)
    eventually(lambda: Run.objects.get(id=run.id).status == Run.QUEUED, "its run is given back")
    worker.exit_status()
    run.refresh_from_db()
    assert (run.status, run.attempts, run.error) == (Run.QUEUED, 0, ""), logs(data_folder)
    worker.expect_nothing_left()


def test_a_run_survives_sigkill_of_the_child_that_does_it(around: Surroundings, run: Run, data_folder: Path) -> None:
    around.start_redis()
    worker = around.start_worker("gpu", SCRIPTED)
    wait_for_events(run, 30)
    for child in descendants(worker.pid):
        os.kill(child, signal.SIGKILL)
    wait_for_status(run, data_folder, Run.DONE, Run.FAILED)
    assert rows(run) == WHOLE
    assert run.attempts == 2


def test_a_broker_that_loses_everything_loses_no_run(around: Surroundings, run: Run, data_folder: Path) -> None:
    other = Run.objects.create(
        graph=run.graph, cluster=run.cluster, method=run.method, settings={}, evaluations=100, seed=1
    )
    around.start_redis()
    around.start_worker("gpu", SCRIPTED)
    wait_for_events(run, 30)
    around.kill_redis()
    around.forget_messages()
    around.start_redis()
    for each in (run, other):
        wait_for_status(each, data_folder, Run.DONE, Run.FAILED)
        assert rows(each) == WHOLE
        assert each.attempts == 1


def test_a_redis_that_is_read_only_for_a_while_ends_no_worker(
    around: Surroundings, run: Run, data_folder: Path
) -> None:
    """As in a failover: it answers, with errors alone."""
    around.start_redis()
    busy, idle = around.start_worker("gpu", SCRIPTED), around.start_worker("cpu")
    wait_for_events(run, 30)
    around.ask_redis("REPLICAOF", "127.0.0.1", "1")
    wait_for_status(run, data_folder, Run.DONE, Run.FAILED)
    other = Run.objects.create(
        graph=run.graph, cluster=run.cluster, method=run.method, settings={}, evaluations=100, seed=1
    )
    for worker in (busy, idle):
        worker.wait_for_line("the broker stores nothing; this worker waits for it: ReadOnlyError")
    around.ask_redis("REPLICAOF", "NO", "ONE")
    wait_for_status(other, data_folder, Run.DONE, Run.FAILED)
    for each in (run, other):
        assert rows(each) == WHOLE
        assert (each.status, each.attempts) == (Run.DONE, 1), logs(data_folder)
    assert all("Traceback" not in worker.output() for worker in (busy, idle)), logs(data_folder)


def test_a_drained_worker_finishes_its_run_and_takes_no_other(
    around: Surroundings, run: Run, data_folder: Path
) -> None:
    other = Run.objects.create(
        graph=run.graph, cluster=run.cluster, method=run.method, settings={}, evaluations=100, seed=1
    )
    around.start_redis()
    worker = around.start_worker_as_documented("gpu", SCRIPTED)
    wait_for_events(run, 30)
    worker.signal(DRAIN_SIGNAL)
    assert worker.exit_status() == 0
    worker.expect_nothing_left()
    run.refresh_from_db()
    other.refresh_from_db()
    assert (run.status, run.attempts) == (Run.DONE, 1), logs(data_folder)
    assert rows(run) == WHOLE
    assert (other.status, other.attempts) == (Run.QUEUED, 0), logs(data_folder)


def test_a_stop_signal_ends_a_drain_and_gives_the_run_back(around: Surroundings, run: Run, data_folder: Path) -> None:
    around.start_redis()
    worker = around.start_worker_as_documented("gpu", "tests.webapp.deaf_worker")
    wait_for_events(run, 3)
    worker.signal(DRAIN_SIGNAL)
    worker.wait_for_line("draining: this worker takes nothing new")
    worker.signal(signal.SIGTERM)
    worker.exit_status()
    run.refresh_from_db()
    assert (run.status, run.attempts) == (Run.QUEUED, 0), logs(data_folder)
    worker.expect_nothing_left()


def test_a_cancelled_run_that_does_not_stop_ends_with_its_processes_and_the_next_one_begins(
    around: Surroundings, run: Run, data_folder: Path
) -> None:
    around.start_redis()
    worker = around.start_worker("gpu", "tests.webapp.endless_worker")
    eventually((data_folder / "endless").exists, "the run's child sleeps")
    assert cancel(run)
    wait_for_status(run, data_folder, Run.CANCELLED, Run.FAILED)
    assert (run.status, run.error) == (Run.CANCELLED, "")
    ended = [int(word) for word in (data_folder / "endless").read_text().split()]
    eventually(lambda: not set(ended) & set(descendants(worker.pid)), "the run's process ends")
    eventually(lambda: not any(Path(f"/proc/{process}/task").exists() for process in ended), "and its child")
    following = Run.objects.create(
        graph=run.graph, cluster=run.cluster, method=run.method, settings={}, evaluations=100, seed=1
    )
    wait_for_status(following, data_folder, Run.DONE, Run.FAILED)
    assert (following.status, following.attempts) == (Run.DONE, 1)


GARBAGE = (
    *("garbage", "{}", "[]", "7", "null", "[" * 100_000, b"\xff\xfe", '{"properties": {}}'),
    '{"body": "!", "headers": null, "properties": {"delivery_tag": "1", "delivery_info": {}}}',
    '{"body": "a", "headers": {"task": "runs.place"}, '
    '"properties": {"delivery_tag": "2", "body_encoding": "base64", "delivery_info": {}}}',
    '{"body": "W10=", "headers": {"task": "runs.place", "id": "3"}, "content-type": "application/json", '
    '"content-encoding": "utf-8", "properties": {"delivery_tag": "3", "body_encoding": "base64", "delivery_info": {}}}',
)
"""entries of a queue's list that are no messages, or messages of nobody's"""


OF_AN_OLDER_VERSION = (
    '{"body": "W1siMSJdLCB7fSwge31d", "headers": {"task": "runs.place", "id": "4", "lang": "py"}, '
    '"content-type": "application/json", "content-encoding": "utf-8", "properties": '
    '{"delivery_tag": "4", "body_encoding": "base64", "delivery_info": {"exchange": "", "routing_key": "gpu"}}}'
)
"""`runs.place("1")`, a task that versions up to 0.2.0 had: each kind of job had its own"""


def test_garbage_in_a_queue_ends_no_worker(around: Surroundings, run: Run, data_folder: Path) -> None:
    around.start_redis()
    Run.objects.filter(id=run.id).update(status=Run.CANCELLED)
    around.ask_redis("LPUSH", "gpu", *GARBAGE, OF_AN_OLDER_VERSION)
    worker = around.start_worker("gpu", SCRIPTED)
    eventually(lambda: around.ask_redis("LLEN", "gpu") == 0, "all of it is read")
    Run.objects.filter(id=run.id).update(status=Run.QUEUED)
    wait_for_status(run, data_folder, Run.DONE, Run.FAILED)
    assert run.attempts == 1, logs(data_folder)
    assert worker.pid in descendants(os.getpid()), logs(data_folder)
    assert "an entry of a queue is no message and is dropped: JSONDecodeError" in logs(data_folder)
    assert "unregistered task of type 'runs.place'" in logs(data_folder), "the reaper has published the run anew"
