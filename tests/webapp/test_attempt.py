"""What an exception in a worker makes of its job."""

import errno
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from pytest_django import Settings

from engine import api
from webapp.jobs.attempt import attempt, is_stop
from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.memory_kills import note_attempt
from webapp.jobs.models import SavedState
from webapp.jobs.reaper import give_back
from webapp.runs.models import Run


def stopped_in_compiled_code() -> SystemError:
    """As CPython raises it where compiled code returns with the exit of a signal's handler."""
    error = SystemError("CPUDispatcher returned a result with an exception set")
    error.__cause__ = SystemExit(15)
    return error


@pytest.fixture
def notes(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the notes of attempts; the system has killed seven processes for memory."""
    settings.DATA_FOLDER = tmp_path
    monkeypatch.setattr(api, "kills_for_memory", lambda: 7)
    return tmp_path / "memory"


def claimed(run: Run) -> Claim[Run]:
    claim = Claim.take(Run, run.id)
    assert claim is not None
    return claim


def test_a_stop_in_compiled_code_is_no_failure_of_the_run(run: Run) -> None:
    with pytest.raises(SystemExit), attempt(claimed(run)):
        raise stopped_in_compiled_code()
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.RUNNING, ""), "the worker, or a reaper, gives it back"


def test_a_stop_behind_an_error_of_the_engine_is_none_either(run: Run) -> None:
    with pytest.raises(SystemExit), attempt(claimed(run)):
        try:
            raise stopped_in_compiled_code()
        except SystemError as error:
            raise api.GraphError("the child ended") from error
    run.refresh_from_db()
    assert run.status == Run.RUNNING


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (api.GraphError("it is odd", allowed="another one"), Run.FAILED, "it is odd; allowed: another one"),
        (SystemError("a fault of ours"), Run.FAILED, "Something went wrong on the worker"),
        (OperationalError("locked"), Run.RUNNING, ""),
        (ClaimLostError("gone"), Run.RUNNING, ""),
    ],
)
def test_what_else_may_happen(run: Run, error: Exception, status: str, sentence: str) -> None:
    def fail() -> None:
        raise error

    with attempt(claimed(run)):
        fail()
    run.refresh_from_db()
    assert run.status == status
    assert run.error.startswith(sentence) and bool(run.error) == bool(sentence)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_too_much_memory_is_one_sentence(run: Run, error: Exception, settings: Settings) -> None:
    def fail() -> None:
        raise error

    settings.RUN_MEMORY_BYTES = 3 * 1024**3
    with attempt(claimed(run)):
        fail()
    run.refresh_from_db()
    assert run.status == Run.FAILED
    assert run.error.startswith("It took too much memory; allowed: at most 3.00 GiB: use fewer groups")


@pytest.mark.usefixtures("transactional_db")
def test_a_run_that_the_kernel_killed_for_memory_says_so_and_is_not_tried_again(
    run: Run, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claimed(run)
    note_attempt(run.id)  # its process is killed: it does not forget
    give_back(claim, crashed=True)
    monkeypatch.setattr(api, "kills_for_memory", lambda: 8)
    claim = claimed(run)
    tries: list[Claim[Run]] = []
    with attempt(claim), Heartbeat(claim, chore=lambda: None):
        tries.append(claim)
    assert tries == []
    run.refresh_from_db()
    assert run.status == Run.FAILED
    assert run.error.startswith("the system ended it because the machine's memory ran out; allowed: a smaller graph")
    assert list(notes.iterdir()) == []


@pytest.mark.usefixtures("transactional_db")
def test_a_run_that_was_killed_for_another_reason_is_tried_again(run: Run, notes: Path) -> None:
    note_attempt(run.id)
    claim = claimed(run)
    with attempt(claim), Heartbeat(claim, chore=lambda: None):
        pass
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.RUNNING, "")
    assert list(notes.iterdir()) == []


@pytest.mark.usefixtures("transactional_db", "notes")
def test_a_full_data_folder_fails_no_run_by_itself(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = claimed(run)
    tries: list[Claim[Run]] = []
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        with attempt(claim), Heartbeat(claim, chore=lambda: None):
            tries.append(claim)
    assert tries == [claim]
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.RUNNING, "")


def test_a_killed_process_is_tried_again_until_it_has_failed_too_often(run: Run, settings: Settings) -> None:
    def fail() -> None:
        raise api.ChildKilledError("measuring was interrupted")

    settings.MOST_ATTEMPTS = 2
    SavedState.objects.create(job_id=run.id, seq=1, state=b"")
    for attempts, status in ((1, Run.QUEUED), (2, Run.FAILED)):
        with attempt(claimed(run)):
            fail()
        run.refresh_from_db()
        assert (run.status, run.attempts) == (status, attempts)
    assert run.error.startswith("Its worker stopped unexpectedly 2 times without any progress")


def test_errors_that_are_behind_each_other_end_the_search() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert not is_stop(first)
