"""Operations of matrix decompositions and solvers: the leading terms, times the number of matrices.

Sources: G is Golub and Van Loan, Matrix Computations, 4th edition; H is Higham, Functions of Matrices (2008); M is
Murray, Differentiation of the Cholesky decomposition (arXiv:1602.07527).
"""

from collections.abc import Callable

from engine.costs.operations.execution import Count, Execution, Shape, broadcast, require, size


def of_square(leading: Callable[[int], int]) -> Count:
    """Count for a batch of square matrices; `leading` gives the operations for one matrix of n rows."""

    def count(execution: Execution) -> int:
        batch, rows, columns = execution.matrices(0)
        require(rows == columns)
        return size(batch) * leading(rows)

    return count


def cholesky(rows: int) -> int:
    """G 4.2.5: n³ / 3."""
    return rows**3 // 3


def lower_upper(rows: int) -> int:
    """G 3.2.6: 2 n³ / 3, also for a determinant."""
    return 2 * rows**3 // 3


def solve(execution: Execution) -> int:
    """By elimination, G 3.2: 2 n³ / 3, and 2 n² for each right side."""
    batch, rows, sides = _solved(execution)
    return size(batch) * (lower_upper(rows) + 2 * rows**2 * sides)


def solve_triangular(execution: Execution) -> int:
    """By substitution, G 3.1: n² for each right side."""
    batch, rows, sides = _solved(execution)
    return size(batch) * rows**2 * sides


def solve_banded(execution: Execution) -> int:
    """By substitution in a band of k diagonals, G 4.3: 2 n k for each right side."""
    batch, band, rows = execution.matrices(0)
    other, other_rows, sides = execution.matrices(1)
    require(rows == other_rows)
    return size(broadcast(batch, other)) * 2 * rows * band * sides


def solve_tridiagonal(execution: Execution) -> int:
    """G 4.3.6: 3 n to eliminate, 5 n for each right side."""
    batch, diagonals, rows = execution.matrices(0)
    _, other_rows, sides = execution.matrices(1)
    require(diagonals == 3 and rows == other_rows)
    return size(batch) * rows * (3 + 5 * sides)


def multiply_tridiagonal(execution: Execution) -> int:
    """Three multiplications and two additions for each element of the result."""
    return 5 * size(execution.input(3))


def least_squares(execution: Execution) -> int:
    """For m × n, m ≥ n: m n² + n³ / 3 by normal equations (G 5.3.2), 2 n² (m - n / 3) by reflections (G 5.3.3).

    Both add 4 m n for each right side.
    """
    batch, rows, columns = execution.matrices(0)
    _, other_rows, sides = execution.matrices(1)
    require(rows == other_rows)
    longer, shorter = max(rows, columns), min(rows, columns)
    normal = longer * shorter**2 + cholesky(shorter)
    factored = normal if execution.flag("fast", default=True) else _reflections(longer, shorter)
    return size(batch) * (factored + 4 * longer * shorter * sides)


def orthogonal_triangular(execution: Execution) -> int:
    """G 5.2.2: 2 n² (m - n / 3); as much again for the thin factor, 4 (m² n - m n² + n³ / 3) for the full one."""
    batch, rows, columns = execution.matrices(0)
    longer, shorter = max(rows, columns), min(rows, columns)
    thin = _reflections(longer, shorter)
    full = 4 * (longer**2 * shorter - longer * shorter**2 + shorter**3 // 3)
    return size(batch) * (thin + (full if execution.flag("full_matrices") else thin))


def singular_values(execution: Execution) -> int:
    """G 8.6.3, m the longer: values 4 m n² - 4 n³ / 3, thin 14 m n² + 8 n³, full 4 m² n + 8 m n² + 9 n³."""
    batch, rows, columns = execution.matrices(0)
    longer, shorter = max(rows, columns), min(rows, columns)
    if not execution.flag("compute_uv", default=True):
        return size(batch) * (4 * longer * shorter**2 - 4 * shorter**3 // 3)
    if execution.flag("full_matrices"):
        return size(batch) * (4 * longer**2 * shorter + 8 * longer * shorter**2 + 9 * shorter**3)
    return size(batch) * (14 * longer * shorter**2 + 8 * shorter**3)


def symmetric_eigenvalues(execution: Execution) -> int:
    """G 8.3.5: 4 n³ / 3, with vectors 9 n³."""
    vectors = execution.flag("compute_v", default=True)
    return of_square(lambda rows: 9 * rows**3 if vectors else 4 * rows**3 // 3)(execution)


def eigenvalues(execution: Execution) -> int:
    """G 7.5.6: 10 n³, with vectors 25 n³."""
    vectors = execution.flag("compute_v", default=True)
    return of_square(lambda rows: (25 if vectors else 10) * rows**3)(execution)


def _solved(execution: Execution) -> tuple[Shape, int, int]:
    """Batch, rows and right sides of a system of equations."""
    batch, rows, columns = execution.matrices(0)
    other, other_rows, sides = execution.matrices(1)
    require(rows == columns == other_rows)
    return broadcast(batch, other), rows, sides


def _reflections(longer: int, shorter: int) -> int:
    """G 5.2.2: the operations to make a matrix triangular."""
    return 2 * shorter**2 * longer - 2 * shorter**3 // 3


COUNTS: dict[str, Count] = {
    **dict.fromkeys(("Cholesky", "BatchCholesky", "RiscCholesky"), of_square(cholesky)),
    **dict.fromkeys(("CholeskyGrad", "BatchCholeskyGrad"), of_square(lower_upper)),  # M: twice the decomposition
    **dict.fromkeys(("Lu", "LogMatrixDeterminant"), of_square(lower_upper)),
    **dict.fromkeys(("MatrixDeterminant", "BatchMatrixDeterminant"), of_square(lower_upper)),
    **dict.fromkeys(("MatrixInverse", "BatchMatrixInverse"), of_square(lambda rows: 2 * rows**3)),  # G 3.4.1
    **dict.fromkeys(("MatrixSolve", "BatchMatrixSolve"), solve),
    **dict.fromkeys(("MatrixTriangularSolve", "BatchMatrixTriangularSolve"), solve_triangular),
    "RiscTriangularSolve": solve_triangular,
    "BandedTriangularSolve": solve_banded,
    "TridiagonalSolve": solve_tridiagonal,
    "TridiagonalMatMul": multiply_tridiagonal,
    **dict.fromkeys(("MatrixSolveLs", "BatchMatrixSolveLs"), least_squares),
    "Qr": orthogonal_triangular,
    **dict.fromkeys(("Svd", "BatchSvd", "XlaSvd"), singular_values),
    **dict.fromkeys(("SelfAdjointEig", "SelfAdjointEigV2", "XlaSelfAdjointEig"), symmetric_eigenvalues),
    **dict.fromkeys(("BatchSelfAdjointEig", "BatchSelfAdjointEigV2"), symmetric_eigenvalues),
    "Eig": eigenvalues,
    # H 10.3: six products of the 13th-order approximant and a solution; squarings depend on the values
    "MatrixExponential": of_square(lambda rows: 12 * rows**3 + 8 * rows**3 // 3),
    "MatrixLogarithm": of_square(lambda rows: 25 * rows**3),  # H 11.5: the Schur decomposition leads
    "MatrixSquareRoot": of_square(lambda rows: 85 * rows**3 // 3),  # H 6.2: 28 1/3 n³
}
