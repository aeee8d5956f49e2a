"""A mixed-integer linear programme that is built row by row: its columns, rows and bounds."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST_COLUMNS = 100_000
"""of a programme that is tried"""
Columns = NDArray[np.int64]


class LinearModel:
    """Columns with bounds and costs, and rows of values that lie between two limits. The objective is to be small."""

    def __init__(self) -> None:
        self._lower: list[NDArray[np.float64]] = []
        self._upper: list[NDArray[np.float64]] = []
        self._integer: list[NDArray[np.bool_]] = []
        self._entries: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self._limits: list[tuple[float, float]] = []
        self.column_count = 0

    @property
    def row_count(self) -> int:
        return len(self._limits)

    def new_columns(
        self, shape: tuple[int, ...], upper: NDArray[np.float64] | float = np.inf, *, integer: bool = False
    ) -> Columns:
        """[shape] new columns from 0 to `upper`."""
        count = int(np.prod(shape))
        columns = np.arange(self.column_count, self.column_count + count).reshape(shape)
        self._lower.append(np.zeros(count))
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), shape).ravel().copy())
        self._integer.append(np.full(count, integer))
        self.column_count += count
        return columns

    def add_row(
        self,
        terms: Sequence[tuple[Columns | int, NDArray[np.float64] | float]],
        lower: float = -np.inf,
        upper: float = np.inf,
    ) -> None:
        """Let the sum of `terms`, columns and their values, lie from `lower` to `upper`."""
        columns = [np.asarray(column, dtype=np.int64).ravel() for column, _ in terms]
        values = [
            np.broadcast_to(np.asarray(value, dtype=np.float64).ravel(), each.shape)
            for each, (_, value) in zip(columns, terms, strict=True)
        ]
        joined, values_of = np.concatenate(columns), np.concatenate(values)
        used, place = np.unique(joined, return_inverse=True)
        sums = np.bincount(place, values_of, len(used))
        self._entries.append((used[sums != 0], sums[sums != 0]))
        self._limits.append((lower, upper))

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[columns] the lower and the upper bounds."""
        return np.concatenate(self._lower), np.concatenate(self._upper)

    def integers(self) -> NDArray[np.bool_]:
        """[columns] whether each is to be whole."""
        return np.concatenate(self._integer)

    def limits(self, begin: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[rows from `begin` on] the lower and the upper limits."""
        limits = np.array(self._limits[begin:], dtype=np.float64).reshape(-1, 2)
        return limits[:, 0].copy(), limits[:, 1].copy()

    def matrix(self, begin: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """The rows from `begin` on: [rows + 1] where each begins, [entries] columns, [entries] values."""
        entries = self._entries[begin:]
        sizes = np.array([len(columns) for columns, _ in entries], dtype=np.int64)
        first = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))).astype(np.int32)
        none = [np.zeros(0, np.int64)]
        columns = np.concatenate([columns for columns, _ in entries] or none).astype(np.int32)
        return first, columns, np.concatenate([values for _, values in entries] or [np.zeros(0)])
