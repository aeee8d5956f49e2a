"""When a part that died is started again."""

from pathlib import Path

from webapp.supervisor.kept_part import KeptPart
from webapp.supervisor.parts import Part, WhenItSays
from webapp.supervisor.restarts import Restarts


def waits_of(restarts: Restarts, *seconds_run: float) -> list[float]:
    """The wait after each death of a part that ran this long, and waited as it was told."""
    now, waits = 0.0, []
    for seconds in seconds_run:
        started_at, now = now, now + seconds
        wait = restarts.wait_after_death(started_at, now)
        waits.append(wait)
        now += wait
    return waits


def test_the_wait_doubles_up_to_a_minute_and_has_no_end() -> None:
    assert waits_of(Restarts(), *[200.0] * 8) == [1, 2, 4, 8, 16, 32, 60, 60]
    assert waits_of(Restarts(), *[0.0] * 100)[7:] == [60] * 93


def test_a_part_that_ran_for_ten_minutes_waits_a_second_again() -> None:
    assert waits_of(Restarts(), 0, 0, 599, 600, 1) == [1, 2, 4, 1, 2]


def test_a_part_counts_its_own_deaths(tmp_path: Path) -> None:
    def start(_part: Part) -> None: ...

    kept = [KeptPart(Part(name, (), WhenItSays("READY")), start) for name in ("web", "gpu")]  # type: ignore[arg-type]
    assert [kept[0].wait_after_death(float(number)) for number in range(6)] == [1, 2, 4, 8, 16, 32]
    assert kept[1].wait_after_death(6.0) == 1.0
    assert (kept[1].running, kept[1].starts_at) == (None, 7.0)
