"""What engine/files/compiled.py uses of numba and llvmlite."""

import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.caching import FunctionCache, IndexDataCacheFile

from engine.files.compiled import borrowed, part_of


def double(number: int) -> int:
    return 2 * number


def total(array: Any) -> Any:
    return borrowed(array).sum()


def test_compiled_code_lies_in_the_file_that_a_subclass_of_the_cache_names(tmp_path: Path) -> None:
    """If it fails, machine code of an older version of the engine may run."""

    class OwnFile(FunctionCache):
        own: Any = None

        @property
        def _cache_file(self) -> Any:
            return self.own

        @_cache_file.setter
        def _cache_file(self, _numbas: Any) -> None:
            pass

    cache = OwnFile(double)  # type: ignore[no-untyped-call]  # numba's own
    assert Path(cache._cache_path).is_absolute()
    name, stamp = f"{cache._impl.filename_base}-own", cache._impl.locator.get_source_stamp()
    for misses in (1, 0):
        cache.own = IndexDataCacheFile(str(tmp_path), name, stamp)  # type: ignore[no-untyped-call]  # numba's own
        dispatcher: Any = numba.njit(double)
        dispatcher._cache = cache
        assert dispatcher(4) == 8
        assert len(dispatcher.signatures) == 1
        assert sum(dispatcher.stats.cache_misses.values()) == misses
    assert [path.name for path in tmp_path.glob("*.nbi")] == [f"{name}.nbi"]


def test_an_array_can_be_used_without_counting_references() -> None:
    """If it fails, the simulator does not compile, or frees an array that is in use: make_array, `_getvalue`."""
    array = np.arange(4.0)
    before = sys.getrefcount(array)
    assert numba.njit(total)(array) == 6
    assert sys.getrefcount(array) == before


def test_a_part_of_an_array_is_an_array_without_a_count_of_references() -> None:
    """`engine.files.compiled.part_of` casts numbers, moves the pointer and packs a shape of its own."""
    assert callable(cgutils.pack_array)
    assert str(types.intp) == "int64"

    @numba.njit
    def sum_of_part(array: Any, first: int, count: int) -> Any:
        return part_of(array, first, count).sum()

    assert sum_of_part(np.arange(10), 2, 3) == 2 + 3 + 4
    assert sum_of_part(np.arange(10), np.uint32(7), 0) == 0
