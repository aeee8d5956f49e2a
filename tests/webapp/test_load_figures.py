"""The table that `python -m tests.load` prints."""

from tests.load.figures import MEBIBYTE, Figures, Times, table


def test_quantiles_are_of_the_answers_and_errors_are_counted_apart() -> None:
    times = Times([0.4, 0.1, 0.3, 0.2])
    times.failed("503")
    times.failed("503")
    assert [times.quantile(share) for share in (0.0, 0.5, 0.95, 1.0)] == [0.1, 0.3, 0.4, 0.4]
    assert times.errors == {"503": 2}
    assert Times().quantile(0.5) is None


def test_a_row_shows_times_errors_memory_and_notes() -> None:
    figures = Figures("3 visitors", Times([0.5]), Times([0.25]), seconds=2.0, cpu_seconds=1.5, threads_peak=9)
    figures.own.failed("500")
    figures.pages.failed("page: away")
    figures.memory_before_bytes, figures.memory_peak_bytes, figures.memory_after_bytes = (
        size * MEBIBYTE for size in (100, 200, 110)
    )
    figures.notes["pages a second"] = 7
    cells = table([figures.to_json()]).splitlines()[-1].strip("| ").split(" | ")
    assert cells == [
        "3 visitors; pages a second 7",
        "1",
        "1 x 500, 1 x page: away",
        "0.50 / 0.50 / 0.50",
        "0.25 / 0.25 / 0.25",
        "1.5 in 2",
        "100 / 200 / 110",
        "1.10",
        "9",
    ]
