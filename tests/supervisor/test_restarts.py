"""When a part that died is started again."""

from pathlib import Path

import pytest

from webapp.supervisor.failure import StartError
from webapp.supervisor.kept_part import KeptPart
from webapp.supervisor.parts import Part, WhenItSays
from webapp.supervisor.restarts import Restarts


def waits_of(restarts: Restarts, *seconds_run: float) -> list[float | None]:
    """The wait after each death of a part that ran this long, and waited as it was told."""
    now, waits = 0.0, []
    for seconds in seconds_run:
        started_at, now = now, now + seconds
        wait = restarts.wait_after_death(started_at, now)
        waits.append(wait)
        now += wait or 0.0
    return waits


def test_the_wait_doubles_up_to_a_minute() -> None:
    assert waits_of(Restarts(), *[200.0] * 8) == [1, 2, 4, 8, 16, 32, 60, 60]


def test_the_fifth_death_within_ten_minutes_is_the_last() -> None:
    assert waits_of(Restarts(), 1000, 0, 0, 0, 0) == [1, 2, 4, 8, None]
    assert waits_of(Restarts(), 0, 0, 0, 0, 600 - 15) == [1, 2, 4, 8, None], "the last of them counts"
    assert waits_of(Restarts(), 0, 0, 0, 0, 600 - 14) == [1, 2, 4, 8, 16], "the first is too long ago"


def test_a_part_that_ran_for_ten_minutes_waits_a_second_again() -> None:
    assert waits_of(Restarts(), 0, 0, 599, 600, 1) == [1, 2, 4, 1, 2]


def test_a_part_counts_its_own_deaths(tmp_path: Path) -> None:
    def start(_part: Part) -> None:
        raise StartError("no memory")

    kept = [KeptPart(Part(name, (), WhenItSays("READY")), start) for name in ("web", "gpu")]  # type: ignore[arg-type]
    for number in range(4):
        kept[0].wait_after_death("no memory", float(number))
    assert kept[1].wait_after_death("no memory", 4.0) == 1.0
    with pytest.raises(StartError, match="no memory"):
        kept[0].wait_after_death("no memory", 5.0)
    assert kept[0].running is None
