"""Distinct rows are those of numpy's own way, in its order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.distinct_rows import distinct_rows

COLUMNS = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(st.integers(-3, 6), min_size=width, max_size=width), min_size=1, max_size=40)
)


@given(COLUMNS)
def test_they_are_as_numpy_finds_them(rows: list[list[int]]) -> None:
    table = np.array(rows, dtype=np.int32)
    found, place = distinct_rows(list(table.T))
    wanted, wanted_place = np.unique(table, axis=0, return_inverse=True)
    assert np.array_equal(found, wanted) and np.array_equal(place, wanted_place.reshape(-1))
    assert np.array_equal(found[place], table)


def test_no_rows_are_no_rows() -> None:
    found, place = distinct_rows((np.zeros(0, np.int32), np.zeros(0, np.int64)))
    assert found.shape == (0, 2) and place.shape == (0,)


def test_large_values_are_distinguished_and_too_large_ranges_are_refused() -> None:
    large = np.array([0, 2**31, 2**31 + 1])
    assert len(distinct_rows((large, large[::-1]))[0]) == 3
    with pytest.raises(AssertionError, match="columns of"):
        distinct_rows((large, large, large))
