"""Adds one row of a table to another or subtracts it, in compiled code.

Rows are passed whole: with `table[index, column]`, where the compiler cannot rule out a negative index, the same loop
is not vectorised and takes four times as long.
"""

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import inlined


@inlined
def add_row(row: NDArray[np.float32], added: NDArray[np.float32]) -> None:
    """`row` += `added`, both [width]."""
    for column in range(len(row)):
        row[column] += added[column]


@inlined
def subtract_row(row: NDArray[np.float32], taken: NDArray[np.float32]) -> None:
    """`row` -= `taken`, both [width]."""
    for column in range(len(row)):
        row[column] -= taken[column]
