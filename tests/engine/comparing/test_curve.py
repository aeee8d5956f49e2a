"""The best so far of a run, and the band over seeds."""

from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from engine.comparing.curve import MOST_POINTS, BestSoFar, band_of

curves = st.lists(
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 50)), min_size=1, max_size=12), min_size=1, max_size=4
)


def curve_of(reported: list[tuple[int, float]]) -> BestSoFar:
    curve = BestSoFar()
    for evaluations, best_us in reported:
        curve.note(evaluations, best_us)
    return curve


def test_it_keeps_improvements_and_says_when_they_came() -> None:
    curve = curve_of([(1, 90.0), (5, 90.0), (9, 41.0), (12, 40.0), (100, 40.0)])
    assert curve.improvements == [(1, 90.0), (9, 41.0), (12, 40.0)]
    assert curve.points() == [(1, 90.0), (9, 41.0), (12, 40.0), (100, 40.0)]
    assert curve.evaluations_to_reach(41.5) == 9
    assert curve.evaluations_to_reach(39.0) is None


def test_a_run_without_a_feasible_placement_has_no_point() -> None:
    curve = BestSoFar()
    curve.note(7, None)
    assert curve.points() == []
    assert curve.evaluations == 7


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    curve = curve_of([(number, 10_000.0 - number) for number in range(1, 5001)])
    points = curve.points()
    assert len(points) <= MOST_POINTS + 2
    assert points[0] == (1, 9999.0)
    assert points[-1] == (5000, 5000.0)
    assert points == sorted(points)


@given(curves)
def test_a_band_is_what_a_search_through_all_points_gives(raw: list[list[tuple[int, int]]]) -> None:
    reported = [
        curve_of([(evaluations, float(best)) for evaluations, best in sorted(points)]).points() for points in raw
    ]
    band = band_of(reported)
    assert band.evaluations[0] == max(curve[0][0] for curve in reported)
    for index, evaluations in enumerate(band.evaluations):
        values = [min(best for at, best in curve if at <= evaluations) for curve in reported]
        assert band.low_us[index] == min(values)
        assert band.high_us[index] == max(values)
        assert band.median_us[index] == median(values)


def test_a_seed_without_a_point_is_not_in_the_band() -> None:
    assert band_of([[], [(3, 8.0)]]).median_us == (8.0,)
    assert band_of([[]]).evaluations == ()
