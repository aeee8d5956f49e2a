"""The supervisor with stand-ins for the parts: they start in order, again when they die, and end together."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.supervisor.started import Started, eventually, started
from webapp.incidents import recent_incidents
from webapp.processes import DRAIN_SIGNAL, descendants

SLEEPER = "echo READY; exec sleep 1000"
WITH_FAMILY = "setsid sleep 1001 & sleep 1002 & echo READY; exec sleep 1000"
"""leaves one child in its group and one outside it"""
STUBBORN = "trap '' TERM; echo READY; while :; do sleep 0.1; done"


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Starts a supervisor over the given shell commands."""
    with ExitStack() as stack:

        def start(*commands: str) -> Started:
            command = ["-m", "tests.supervisor.stand_in", str(tmp_path), *commands]
            return stack.enter_context(started(command, tmp_path / "output", os.environ))

        yield start


def process_of(running: Started, command_line: str) -> int:
    """The first process with this command line; the supervisor's own holds those of all parts."""
    of_it = (line.partition(" ") for line in running.left())
    return next(int(process) for process, _, words in of_it if words.startswith(command_line))


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_ends_all_parts(supervise: Callable[..., Started], stop: signal.Signals) -> None:
    running = supervise(SLEEPER, WITH_FAMILY)
    running.wait_for_line("all ready")
    eventually(lambda: len(running.left()) == 6, "all six are there")  # one that is just being started has no mark
    running.signal(stop)
    assert running.exit_status() == 0
    assert running.left() == []


def test_a_part_that_dies_before_all_are_ready_ends_the_start_with_its_reason(
    supervise: Callable[..., Started], tmp_path: Path
) -> None:
    running = supervise(WITH_FAMILY, "echo the disk burns; exit 3")
    assert running.exit_status() == 1
    assert running.left() == []
    last_line = running.output().splitlines()[-1]
    assert last_line == f"placeto: part2 ended with status 3: the disk burns (more in {tmp_path}/part2.log)"


def test_a_killed_part_is_started_again_without_what_its_group_left(supervise: Callable[..., Started]) -> None:
    running = supervise(SLEEPER, "sleep 1001 & echo READY; exec sleep 1002")
    running.wait_for_line("all ready")
    eventually(lambda: len(running.left()) == 5, "all five are there")
    child, part = process_of(running, "sleep 1001"), process_of(running, "sleep 1002")
    os.kill(part, signal.SIGKILL)
    running.wait_for_line("part2 was ended by SIGKILL: READY (more in ")
    running.wait_for_line("; it starts again in 0.1 s")
    eventually(lambda: len(running.left()) == 5, "it runs again, with a child")
    assert not {f"{child} sleep 1001", f"{part} sleep 1002"} & set(running.left())
    running.signal(signal.SIGTERM)
    assert running.exit_status() == 0
    assert running.left() == []


def test_a_part_that_is_stopped_is_ended_and_started_again(supervise: Callable[..., Started], tmp_path: Path) -> None:
    running = supervise(SLEEPER, "work echo READY; while :; do sleep 0.1; done")
    running.wait_for_line("all ready")
    part = process_of(running, "/bin/sh -c echo READY")
    os.kill(part, signal.SIGSTOP)
    running.wait_for_line("part2 hung: it did nothing for ")
    running.wait_for_line("part2 was ended by SIGKILL")
    again = "/bin/sh -c echo READY"
    eventually(lambda: any(again in line and f"{part} " not in line for line in running.left()), "another runs")
    [incident] = recent_incidents(tmp_path)
    assert incident.sentence.startswith("part2 hung: it did nothing for ")
    running.signal(signal.SIGTERM)
    assert running.exit_status() == 0


def test_a_part_that_dies_five_times_ends_all_with_its_reason(
    supervise: Callable[..., Started], tmp_path: Path
) -> None:
    running = supervise(WITH_FAMILY, "echo READY; sleep 0.2; echo the disk burns; exit 3")
    assert running.exit_status() == 1
    assert running.left() == []
    epitaph = f"placeto: part2 ended with status 3: the disk burns (more in {tmp_path}/part2.log)"
    assert [line for line in running.output().splitlines() if "placeto: part2" in line] == [
        *[f"{epitaph}; it starts again in {wait:g} s" for wait in (0.1, 0.2, 0.4, 0.8)],
        epitaph,
    ]


def test_a_part_that_ends_well_is_started_again_too(supervise: Callable[..., Started]) -> None:
    running = supervise("echo READY; sleep 0.2; exit 0", SLEEPER)
    running.wait_for_line("part1 ended with status 0: READY")
    running.wait_for_line("; it starts again in 0.1 s")


def test_a_stop_signal_is_heard_while_a_part_waits_for_its_start(supervise: Callable[..., Started]) -> None:
    running = supervise(SLEEPER, "echo READY; sleep 0.1")
    running.wait_for_line("it starts again in 0.8 s")
    running.signal(signal.SIGINT)
    assert running.exit_status() == 0
    assert running.left() == []


def test_a_drain_ends_all_when_the_work_is_done(supervise: Callable[..., Started], tmp_path: Path) -> None:
    until_done = f"until [ $asked ] && [ -e {tmp_path}/done ]; do sleep 0.1; done"
    running = supervise(SLEEPER, f"work trap 'echo drains; asked=1' USR2; echo READY; {until_done}")
    running.wait_for_line("all ready")
    running.signal(DRAIN_SIGNAL)
    running.wait_for_line("part2 | drains")
    assert len(descendants(running.pid)) > 2, "all go on while the work does"
    (tmp_path / "done").touch()
    assert running.exit_status() == 0
    assert running.left() == []
    assert running.output().endswith("placeto: drained: nothing runs any more\nplaceto: stopping\n")
    assert "ended with status" not in running.output()


def test_a_stop_signal_ends_a_drain(supervise: Callable[..., Started]) -> None:
    running = supervise(SLEEPER, "work trap 'echo drains' USR2; echo READY; while :; do sleep 0.1; done")
    running.wait_for_line("all ready")
    running.signal(DRAIN_SIGNAL)
    running.wait_for_line("part2 | drains")
    running.signal(signal.SIGTERM)
    assert running.exit_status() == 0
    assert running.left() == []
    assert "drained" not in running.output()


def test_a_part_that_is_killed_while_it_drains_is_not_started_again(supervise: Callable[..., Started]) -> None:
    running = supervise(SLEEPER, "work trap 'echo drains' USR2; echo READY; while :; do sleep 0.1; done")
    running.wait_for_line("all ready")
    running.signal(DRAIN_SIGNAL)
    running.wait_for_line("part2 | drains")
    os.kill(process_of(running, "/bin/sh -c trap 'echo drains'"), signal.SIGKILL)
    assert running.exit_status() == 0
    assert "part2 was ended by SIGKILL: drains" in running.output()
    assert "it starts again" not in running.output()


def test_a_killed_supervisor_leaves_nothing(supervise: Callable[..., Started]) -> None:
    running = supervise(SLEEPER, WITH_FAMILY, STUBBORN)
    running.wait_for_line("all ready")
    os.kill(running.supervisor(), signal.SIGKILL)
    assert running.exit_status() == 1
    assert running.left() == []
    assert "the supervisor was ended by SIGKILL; all parts have been ended too" in running.output()


def test_a_killed_guardian_leaves_nothing(supervise: Callable[..., Started]) -> None:
    running = supervise(SLEEPER, WITH_FAMILY)
    running.wait_for_line("all ready")
    running.signal(signal.SIGKILL)
    running.expect_nothing_left()


def test_guardian_and_supervisor_killed_at_once_leave_no_part(supervise: Callable[..., Started]) -> None:
    running = supervise(SLEEPER, SLEEPER)
    running.wait_for_line("all ready")
    supervisor = running.supervisor()
    running.signal(signal.SIGSTOP)  # so that it cannot act between the two
    os.kill(supervisor, signal.SIGKILL)
    running.signal(signal.SIGKILL)
    running.expect_nothing_left()


def test_a_second_signal_ends_a_stubborn_part_at_once(supervise: Callable[..., Started]) -> None:
    running = supervise(STUBBORN)
    running.wait_for_line("all ready")
    running.signal(signal.SIGINT)
    running.wait_for_line("stopping")
    running.signal(signal.SIGINT)
    assert running.exit_status() == 0
    assert running.left() == []


def test_a_stop_signal_during_the_start_is_heard(supervise: Callable[..., Started]) -> None:
    running = supervise("echo not yet; exec sleep 1000", SLEEPER)
    running.wait_for_line("not yet")
    running.signal(signal.SIGTERM)
    assert running.exit_status() == 0
    assert running.left() == []
    assert "all ready" not in running.output()


def test_a_stage_starts_when_the_one_before_is_ready(supervise: Callable[..., Started], tmp_path: Path) -> None:
    running = supervise(f"once sleep 0.3; touch {tmp_path}/made", f"ls {tmp_path}/made && echo READY; exec sleep 1000")
    running.wait_for_line("all ready")


def test_a_preparation_that_fails_stops_the_start(supervise: Callable[..., Started], tmp_path: Path) -> None:
    running = supervise("once echo no table; exit 1", f"touch {tmp_path}/started")
    assert running.exit_status() == 1
    assert "part1 ended with status 1: no table" in running.output()
    assert not (tmp_path / "started").exists()


def test_a_command_that_does_not_exist_is_one_line(supervise: Callable[..., Started]) -> None:
    running = supervise("exec /no/such/program")
    assert running.exit_status() == 1
    assert "part1 ended with status 127" in running.output()


def test_info_goes_to_the_log_alone_and_errors_to_the_console_too(
    supervise: Callable[..., Started], tmp_path: Path
) -> None:
    running = supervise(
        "echo '2026-01-01 00:00:00,000 INFO web: quiet'; echo 'ERROR: loud'; echo READY; exec sleep 1000"
    )
    running.wait_for_line("all ready")
    assert "   part1 | ERROR: loud" in running.output()
    assert "quiet" not in running.output()
    log = tmp_path / "part1.log"
    eventually(lambda: "quiet" in log.read_text() and "loud" in log.read_text(), "the log holds both")
