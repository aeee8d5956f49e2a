"""The compiled queue gives its entries in order."""

from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.grouping.queue import new_queue, pop, push

ENTRIES = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 2.0]), st.integers(1, 3)), min_size=1, max_size=20)


@given(ENTRIES, st.data())
def test_entries_come_in_order(entries: list[tuple[float, int]], data: st.DataObject) -> None:
    queue, waiting = new_queue(len(entries)), []
    for position, (cost, ops) in enumerate(entries):
        push(queue, cost, ops, position, 10 * position)
        waiting.append((cost, ops, position))
        if data.draw(st.booleans()):
            waiting.sort()
            _, ops, position = waiting.pop(0)
            assert pop(queue) == (10 * position, ops)
    for _, ops, position in sorted(waiting):
        assert pop(queue) == (10 * position, ops)
