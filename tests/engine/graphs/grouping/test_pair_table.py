"""The compiled table does what a dict does."""

from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.grouping.pair_table import MISSING, new_table, put, remove, value_of

KEYS = st.integers(0, 30)


@given(st.lists(st.tuples(KEYS, st.integers(0, 99) | st.none())))
def test_as_a_dict(steps: list[tuple[int, int | None]]) -> None:
    table, expected = new_table(31), {}
    for key, value in steps:
        if value is not None:
            put(table, key, value)
            expected[key] = value
        elif key in expected:
            remove(table, key)
            del expected[key]
        assert [value_of(table, key) for key in range(31)] == [expected.get(key, MISSING) for key in range(31)]
