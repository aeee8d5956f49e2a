"""The heap of integers sorts."""

import numpy as np

from engine.search.earliest_start import pop, push


def test_what_goes_in_comes_out_in_order() -> None:
    rng = np.random.default_rng(0)
    heap, counts = np.empty(100, np.int64), np.zeros(2, np.int64)
    expected: list[int] = []
    for number in rng.permutation(100).tolist():
        push(heap, counts, number)
        expected.append(number)
        if rng.random() < 0.4:
            expected.sort()
            assert pop(heap, counts) == expected.pop(0)
    assert [pop(heap, counts) for _ in range(len(expected))] == sorted(expected)
    assert counts.tolist() == [0, 0]
