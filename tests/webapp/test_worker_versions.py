"""Two workers of different versions on one queue: the one whose version is the database's does all the work."""

from pathlib import Path

from tests.supervisor.started import eventually
from tests.webapp.processes import Surroundings, logs
from webapp.runs.models import Run
from webapp.workers.models import DatabaseVersion, Worker

OTHER_VERSION = "9.9.9"
"""of `other_version_worker`, which would change this process's version too"""
SCRIPTED = "tests.webapp.scripted_worker"


def takes(version: str) -> bool:
    """Whether the worker of this version, and no other, takes jobs."""
    return list(Worker.objects.filter(takes_nothing_because="").values_list("version", flat=True)) == [version]


def wait_until_done(run: Run, data_folder: Path) -> None:
    """Wait until the run has ended in one attempt."""
    eventually(lambda: Run.objects.get(id=run.id).has_ended, f"the run ends\n{logs(data_folder)}")
    run.refresh_from_db()
    assert (run.status, run.attempts) == (Run.DONE, 1)


def messages_taken(log: Path) -> int:
    """How many messages a worker has received."""
    return log.read_text().count("] received")


def test_a_worker_of_another_version_takes_nothing_until_it_matches(
    around: Surroundings, run: Run, data_folder: Path
) -> None:
    own_version = DatabaseVersion.objects.get().version
    around.start_redis()
    around.start_worker("gpu", "tests.webapp.other_version_worker", SCRIPTED)
    others_log, own_log = data_folder / "gpu-1.log", data_folder / "gpu-2.log"
    eventually(lambda: Worker.objects.filter(takes_nothing_because="another version").exists(), "it says why it waits")
    around.start_worker("gpu", SCRIPTED)
    wait_until_done(run, data_folder)
    assert takes(own_version)
    assert (messages_taken(others_log), others_log.read_text().count("It takes nothing")) == (0, 1)

    DatabaseVersion.objects.update(version=OTHER_VERSION)
    eventually(lambda: takes(OTHER_VERSION), "each has seen the new version")
    taken_before = messages_taken(own_log)
    later = Run.objects.create(
        graph=run.graph, cluster=run.cluster, method=run.method, settings={}, evaluations=100, seed=1
    )
    wait_until_done(later, data_folder)
    assert messages_taken(others_log) > 0
    assert messages_taken(own_log) == taken_before
