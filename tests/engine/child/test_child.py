"""Children keep to their limits, say how they ended, and leave nothing behind, however they came to be."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.child import idling, parent
from engine.child.parent import Limits, child_results, publish, require_size, run_in_child
from engine.errors import (
    ChildError,
    ChildKilledError,
    ClusterError,
    GraphError,
    LimitError,
    PlacetoError,
    SettingsError,
    TimeLimitError,
)
from engine.events import Json
from tests.engine.child.processes import is_alive, wait_for

FUNCTIONS = "tests.engine.child.child_functions"
ROOT = Path(__file__).parents[3]
SMALL = Limits(memory_bytes=512 * 1024**2, seconds=30.0)


@pytest.fixture(autouse=True, params=["started", "forked"])
def is_warm(request: pytest.FixtureRequest) -> bool:
    """Each test is done with a child that is started on its own, and with one that is forked from a server."""
    if request.param == "forked":
        request.getfixturevalue("warm_server")
    return bool(request.param == "forked")


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Children's folders are made below `tmp_path`/temporary, which is empty again after each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


def test_results_files_and_progress_come_back_and_the_folder_goes(is_warm: bool) -> None:
    reported: list[tuple[str, int, int]] = []
    order: dict[str, Json] = {"text": "ü\u202e\ud800", "list": [1, None, 2.5]}
    with child_results(
        f"{FUNCTIONS}:echo",
        order,
        SMALL,
        task="echoing",
        is_warm=is_warm,
        report_progress=lambda *each: reported.append(each),
    ) as ((arrays, texts), folder):
        assert arrays["numbers"].tolist() == [0, 1, 2]
        assert texts["order"] == order
        assert texts["folder"] == str(folder)
        assert (folder / "left.txt").read_text() == "left behind"
        assert texts["pid"] != os.getpid()
    assert reported == [("first", 1, 2), ("second", 2, 2)]
    assert not folder.exists()


def test_a_child_gets_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch, is_warm: bool) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://user:secret@host/name")
    _, texts = run_in_child(f"{FUNCTIONS}:environment", {}, SMALL, task="looking", is_warm=is_warm)
    assert "DATABASE_URL" not in texts["names"]  # type: ignore[operator]  # a list, as any wrong type would show
    assert Path(str(texts["cwd"])).name.startswith("placeto-")
    assert texts["tensorflow"] is False


def test_a_typed_error_is_raised_as_it_was(is_warm: bool) -> None:
    with pytest.raises(ClusterError) as caught:
        run_in_child(f"{FUNCTIONS}:typed_error", {}, SMALL, task="failing", is_warm=is_warm)
    original = ClusterError("what\u202e", where="where", allowed="allowed", advice="advice", field="cluster")
    assert (str(caught.value), vars(caught.value)) == (str(original), vars(original))


def test_a_bug_is_one_sentence_and_its_traceback_goes_to_the_log(
    caplog: pytest.LogCaptureFixture, is_warm: bool
) -> None:
    with pytest.raises(ChildError, match=r"\Areading failed: the process ended with status 1\Z"):
        run_in_child(f"{FUNCTIONS}:bug", {}, SMALL, task="reading", is_warm=is_warm)
    assert "KeyError: 'secret detail'" in caplog.text


@pytest.mark.parametrize(
    ("signal_name", "last_words", "error_type", "message"),
    [
        ("SIGSEGV", "", ChildError, "reading failed: the process ended with signal SIGSEGV"),
        ("SIGABRT", "check failed: x > 0", ChildError, "reading failed: the process ended with signal SIGABRT"),
        (
            "SIGABRT",
            "F0000 00:00:1.5 7 shape.cc:711] Check failed: rank >= 0 (-1 vs. 0)\n*** Check failure stack trace: ***\n"
            + "    @     0x7f954864dc64  tensorflow::Run()\n" * 300,
            ChildError,
            "reading failed: TensorFlow ended the process: Check failed: rank >= 0 (-1 vs. 0)",
        ),
        ("SIGABRT", "what():  std::bad_alloc", LimitError, "reading took too much memory; allowed: at most 512 MiB"),
        ("SIGKILL", "", ChildKilledError, "reading was interrupted: its process was killed; allowed: another try"),
        ("SIGXCPU", "", TimeLimitError, "reading took too long; allowed: at most 30 seconds"),
    ],
)
def test_each_end_by_a_signal_is_one_sentence(
    signal_name: str, last_words: str, error_type: type[PlacetoError], message: str, is_warm: bool
) -> None:
    with pytest.raises(error_type) as caught:
        run_in_child(
            f"{FUNCTIONS}:end_by_signal",
            {"signal": signal_name, "last_words": last_words},
            SMALL,
            task="reading",
            is_warm=is_warm,
        )
    assert type(caught.value) is error_type
    assert str(caught.value) == message


@pytest.mark.parametrize("counts", [(3, 4), (None, None)])
def test_a_kill_when_memory_ran_out_or_where_the_system_does_not_say_is_for_memory(
    counts: tuple[int | None, int | None], monkeypatch: pytest.MonkeyPatch, is_warm: bool
) -> None:
    reported = iter(counts)
    monkeypatch.setattr(parent, "kills_for_memory", lambda: next(reported))
    order = {"signal": "SIGKILL", "last_words": ""}
    with pytest.raises(LimitError, match=r"\Areading took too much memory; allowed: at most 512 MiB\Z"):
        run_in_child(f"{FUNCTIONS}:end_by_signal", {**order}, SMALL, task="reading", is_warm=is_warm)


def test_too_much_memory_is_refused_by_the_system(is_warm: bool) -> None:
    with pytest.raises(LimitError, match=r"\Ahoarding took too much memory; allowed: at most 512 MiB\Z"):
        run_in_child(f"{FUNCTIONS}:hoard", {}, SMALL, task="hoarding", is_warm=is_warm)


def test_too_large_a_file_cannot_be_written(is_warm: bool) -> None:
    with pytest.raises(LimitError, match=r"\Afilling took too much room on the disk\Z"):
        run_in_child(
            f"{FUNCTIONS}:fill_the_disk", {}, Limits(file_bytes=1, seconds=30.0), task="filling", is_warm=is_warm
        )


def test_too_long_is_ended_on_time(is_warm: bool) -> None:
    with pytest.raises(LimitError, match=r"\Aspinning took too long; allowed: at most 0.5 seconds\Z"):
        run_in_child(f"{FUNCTIONS}:spin", {}, Limits(seconds=0.5), task="spinning", is_warm=is_warm)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what processes do")
def test_a_child_that_hangs_or_is_stopped_is_ended_long_before_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_warm: bool
) -> None:
    monkeypatch.setattr(idling, "MOST_IDLE_SECONDS", 1.0)
    monkeypatch.setattr(idling, "SECONDS_BETWEEN_LOOKS", 0.2)
    reported = tmp_path / "told"
    with pytest.raises(ChildError, match=r"\Asleeping failed: the process did nothing for 1 seconds\Z"):
        run_in_child(f"{FUNCTIONS}:sleep_at_first", {"told": str(reported)}, SMALL, task="sleeping", is_warm=is_warm)
    wait_for(lambda: not is_alive(int(reported.read_text())))
    with pytest.raises(
        ChildKilledError, match=r"\Astopping was interrupted: its process was stopped; allowed: another"
    ):
        order: dict[str, Json] = {"signal": "SIGSTOP", "last_words": ""}
        run_in_child(f"{FUNCTIONS}:end_by_signal", order, SMALL, task="stopping", is_warm=is_warm)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what processes do")
def test_a_child_whose_processes_work_does_not_hang(monkeypatch: pytest.MonkeyPatch, is_warm: bool) -> None:
    monkeypatch.setattr(idling, "MOST_IDLE_SECONDS", 1.0)
    monkeypatch.setattr(idling, "SECONDS_BETWEEN_LOOKS", 0.2)
    run_in_child(f"{FUNCTIONS}:wait_for_a_busy_process", {}, SMALL, task="waiting", is_warm=is_warm)


def test_noise_neither_blocks_nor_reaches_us(capfd: pytest.CaptureFixture[str], is_warm: bool) -> None:
    reported: list[int] = []
    run_in_child(
        f"{FUNCTIONS}:chatter",
        {},
        SMALL,
        task="chattering",
        is_warm=is_warm,
        report_progress=lambda _, done, __: reported.append(done),
    )
    assert reported == list(range(2000))
    assert capfd.readouterr() == ("", "")


def test_time_out_ends_the_whole_group(tmp_path: Path, is_warm: bool) -> None:
    reported = tmp_path / "told"
    with pytest.raises(LimitError):
        run_in_child(
            f"{FUNCTIONS}:sleep_with_a_child_of_its_own",
            {"told": str(reported)},
            Limits(seconds=3.0),
            task="sleeping",
            is_warm=is_warm,
        )
    child, grandchild, folder = reported.read_text().split()
    wait_for(lambda: not is_alive(int(child)) and not is_alive(int(grandchild)))
    assert not Path(folder).exists()


def test_an_exception_from_the_progress_callback_ends_the_child(is_warm: bool) -> None:
    class StoppedError(Exception):
        pass

    def stop(stage: str, done: int, total: int) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        run_in_child(f"{FUNCTIONS}:chatter", {}, SMALL, task="chattering", is_warm=is_warm, report_progress=stop)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_an_exception_from_the_pulse_ends_a_child_that_reports_nothing(tmp_path: Path, is_warm: bool) -> None:
    class StoppedError(Exception):
        pass

    reported = tmp_path / "told"

    def pulse() -> None:
        if reported.exists():
            raise StoppedError

    with pytest.raises(StoppedError):
        run_in_child(
            f"{FUNCTIONS}:sleep_with_a_child_of_its_own",
            {"told": str(reported)},
            SMALL,
            task="sleeping",
            is_warm=is_warm,
            pulse=pulse,
        )
    child, grandchild, _ = reported.read_text().split()
    wait_for(lambda: not is_alive(int(child)) and not is_alive(int(grandchild)))


def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    reported = tmp_path / "told"
    code = (
        "from engine.child.parent import *\n"
        f"run_in_child({FUNCTIONS + ':sleep_with_a_child_of_its_own'!r}, {{'told': {str(reported)!r}}}, Limits(), "
        "task='x')"
    )
    environment = {"TMPDIR": str(tmp_path), "PATH": os.defpath}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment) as parent:
        wait_for(reported.exists)
        parent.kill()
    child, grandchild, _ = reported.read_text().split()
    try:
        wait_for(lambda: not is_alive(int(child)))
    finally:
        os.kill(int(grandchild), 9)  # it has no such promise: only time-out and end take the whole group


def _in_a_daemon(queue: "multiprocessing.Queue[list[int]]") -> None:
    arrays, _ = run_in_child(f"{FUNCTIONS}:echo", {}, SMALL, task="echoing")
    queue.put(arrays["numbers"].tolist())


def test_it_works_from_a_daemonic_process_as_celery_has_them() -> None:
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[list[int]] = context.Queue()
    process = context.Process(target=_in_a_daemon, args=(queue,), daemon=True)
    process.start()
    assert queue.get(timeout=20) == [0, 1, 2]
    process.join(20)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"file_bytes": 0}, "file_bytes: 0; allowed: an integer from 1"),
        ({"memory_bytes": 1}, "memory_bytes: 1; allowed: at least 134217728"),
        ({"seconds": 0.0}, "seconds: 0.0; allowed: a number above 0"),
        ({"seconds": float("nan")}, "seconds: nan; allowed: a number above 0"),
        ({"seconds": float("inf")}, "seconds: inf; allowed: a number above 0"),
    ],
)
def test_limits_check_themselves(limits: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Limits(**limits)  # type: ignore[arg-type]  # wrong numbers on purpose
    assert str(caught.value) == message


def test_require_size(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(10))
    require_size(path, Limits(file_bytes=10))
    with pytest.raises(LimitError, match=r"\Athe file is too large: 10 B; allowed: at most 9 B\Z"):
        require_size(path, Limits(file_bytes=9))
    with pytest.raises(GraphError, match=r"\Amissing: there is no such file; allowed: a file\Z"):
        require_size(tmp_path / "missing", Limits())
    with pytest.raises(GraphError, match=r"\Atemporary: the file cannot be read; allowed: a file\Z"):
        require_size(tmp_path / "temporary", Limits())


def test_publish_replaces_a_file_whole_or_leaves_it(tmp_path: Path) -> None:
    made, destination = tmp_path / "made", tmp_path / "destination"
    made.write_bytes(b"new")
    destination.write_bytes(b"old")
    with pytest.raises(SettingsError):
        publish(tmp_path / "missing", destination)
    assert destination.read_bytes() == b"old"
    publish(made, destination)
    assert destination.read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["destination", "made", "temporary"]


def test_publish_reports_where_it_cannot_write(tmp_path: Path) -> None:
    made, destination = tmp_path / "made", tmp_path / "no" / "such" / "folder"
    made.write_bytes(b"new")
    with pytest.raises(SettingsError) as caught:
        publish(made, destination)
    assert caught.value.what == "it cannot be written: No such file or directory"
    assert caught.value.allowed == "a folder with room"
