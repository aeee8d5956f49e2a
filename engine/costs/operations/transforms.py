"""Operations of Fourier transforms and sorts: n log n.

Source: Cooley and Tukey (1965) as commonly counted, 5 n log₂ n for n complex numbers, half of it for real ones:
https://www.fftw.org/speed/method.html
"""

from engine.costs.operations.execution import Count, Execution, Shape, require, size, times_logarithm

COMPLEX_STEP = 5
"""operations of a transform for each number and level"""


def fourier(axes: int) -> Count:
    """Count of complex transforms over the last `axes` axes; for 0, where an input names the axes, over all axes."""

    def count(execution: Execution) -> int:
        return _transforms(execution.output(), axes)

    return count


def real_fourier(axes: int, inverse: bool) -> Count:
    """Count of transforms from real numbers, or back to them if `inverse`."""

    def count(execution: Execution) -> int:
        spectrum = execution.input(0) if inverse else execution.output()
        require(len(spectrum) >= max(axes, 1))
        if inverse:
            return _transforms(execution.output(), axes) // 2
        length = max(2 * (spectrum[-1] - 1), 0)
        given = execution.input(0)
        if given and given[-1] == length + 1:
            length += 1
        return _transforms((*spectrum[:-1], length), axes) // 2

    return count


def sort(execution: Execution) -> int:
    """A comparison for each element and level of the last axis."""
    shape = execution.input(0)
    require(len(shape) >= 1)
    return times_logarithm(size(shape), shape[-1])


def _transforms(shape: Shape, axes: int) -> int:
    """Operations for all rows, planes or volumes in a tensor of complex numbers."""
    require(len(shape) >= max(axes, 1))
    return times_logarithm(COMPLEX_STEP * size(shape), size(shape[-axes:]))


AXES = {"": 1, "2D": 2, "3D": 3, "ND": 0}
SORTS = (
    *("TopK", "TopKV2", "TopKUnique", "TopKWithUnique", "ApproxTopK"),
    *("XlaSort", "XlaKeyValueSort", "XlaVariadicSort", "RiscSort"),
)
COUNTS: dict[str, Count] = {
    **{f"{name}{suffix}": fourier(axes) for name in ("FFT", "IFFT") for suffix, axes in AXES.items()},
    **{f"Batch{name}{suffix}": fourier(axes) for name in ("FFT", "IFFT") for suffix, axes in AXES.items() if axes},
    **{f"RFFT{suffix}": real_fourier(axes, inverse=False) for suffix, axes in AXES.items()},
    **{f"IRFFT{suffix}": real_fourier(axes, inverse=True) for suffix, axes in AXES.items()},
    **dict.fromkeys(SORTS, sort),
}
