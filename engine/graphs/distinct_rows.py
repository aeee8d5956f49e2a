"""The distinct rows of columns of integers: what `numpy.unique` does along an axis, several times as fast."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST = 2**63 - 1


def distinct_rows(columns: Sequence[NDArray[np.integer]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([distinct, columns] rows in ascending order, [rows] where each row is among them).

    Each row becomes one number, so the product of the columns' ranges must stay below 2⁶³: three columns of two million
    values do.
    """
    rows = np.stack([column.astype(np.int64) for column in columns], axis=1)
    if len(rows) == 0:
        return rows, np.zeros(0, np.int64)
    least = rows.min(axis=0)
    spans = (rows.max(axis=0) - least + 1).tolist()
    number, product = np.zeros(len(rows), np.int64), 1
    for column, span in enumerate(spans):
        product *= span
        assert product <= MOST, f"columns of {spans} values"
        number = number * span + (rows[:, column] - least[column])
    _, first, place = np.unique(number, return_index=True, return_inverse=True)
    return rows[first], place.astype(np.int64)
