"""Compiles the engine's numeric loops: `@compiled` for functions that are called, `@inlined` for their parts."""

import functools
import hashlib
import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any, ParamSpec, TypeVar

import numba
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba.core import cgutils, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

_functions: dict[int, Callable[..., object]] = {}
"""id of a compiled function → the function that it was made of"""
_called: list[Any] = []
"""all functions that `compiled` has made"""


class _DigestCache(FunctionCache):
    """Numba's cache on disk, which here also notices a change in a called function of another file.

    Numba itself checks the caller's file only and would run old machine code after an upgrade. The digest is part of
    the cache file's name, so the files of another version are never opened. It is taken on the first call: before that,
    functions further down in the caller's file are not there yet.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        super().__init__(function)  # type: ignore[no-untyped-call]  # numba's own

    @functools.cached_property
    def _digest_file(self) -> Any:
        return IndexDataCacheFile(  # type: ignore[no-untyped-call]  # numba's own
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}-{_digest_of(self._function)[:16]}",
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    @property
    def _cache_file(self) -> Any:
        return self._digest_file

    @_cache_file.setter
    def _cache_file(self, _own: Any) -> None:
        """Numba sets its own file, which is not used."""


def compiled(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Compile `function` on its first call, without the GIL and without reordered arithmetic; cache the code on disk.

    The cache lies beside the source or, where that folder cannot be written, in the user's cache folder. Where neither
    can be written, a warning says so and every process compiles anew.
    """
    dispatcher = numba.njit(nogil=True, fastmath=False, error_model="numpy")(function)
    try:
        dispatcher._cache = _DigestCache(function)  # type: ignore[attr-defined]  # what cache=True sets
    except RuntimeError as error:
        warnings.warn(f"compiled code is not kept: {error}", stacklevel=2)
    _functions[id(dispatcher)] = function
    _called.append(dispatcher)
    return dispatcher


def compiled_versions() -> dict[str, int]:
    """Function → number of argument types for which this process has compiled code, new or from the cache."""
    return {f"{function.__module__}.{function.__name__}": len(function.signatures) for function in _called}


def compiled_anew() -> list[str]:
    """The names of the functions that this process had to compile because the cache did not hold them."""
    return [function.__name__ for function in _called if sum(function.stats.cache_misses.values())]


def inlined(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Compile `function` into the machine code of each compiled function that calls it, so that it costs no call."""
    dispatcher = numba.njit(nogil=True, fastmath=False, error_model="numpy", forceinline=True)(function)
    _functions[id(dispatcher)] = function
    return dispatcher


def _borrowed(_typing_context: object, array: Any) -> object:
    """The type and the code of `borrowed`, for numba."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> object:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        view.parent = ir.Constant(view.parent.type, None)
        return view._getvalue()

    return array(array), generate


borrowed: Callable[[Answer], Answer] = intrinsic(_borrowed)  # type: ignore[assignment]  # numba's own type
"""In compiled code: the same array without reference counting, which would cost more than the work itself. The caller
keeps the array alive."""


def _part_of(_typing_context: object, array: Any, first: Any, count: Any) -> object:
    """The type and the code of `part_of`, for numba."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> object:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        begin = context.cast(builder, arguments[1], signature.args[1], types.intp)
        length = context.cast(builder, arguments[2], signature.args[2], types.intp)
        view.data = builder.gep(view.data, [begin])
        view.nitems = length
        view.shape = cgutils.pack_array(builder, [length])  # type: ignore[no-untyped-call]  # numba's own
        view.meminfo = ir.Constant(view.meminfo.type, None)
        view.parent = ir.Constant(view.parent.type, None)
        return view._getvalue()

    return array(array, first, count), generate


part_of: Callable[[Answer, int, int], Answer] = intrinsic(_part_of)  # type: ignore[assignment]  # numba's own type
"""In compiled code: `count` items of a contiguous array [items] from `first` on, as `borrowed` and without checks."""


def _digest_of(function: Callable[..., object]) -> str:
    """A digest of the files of `function` and of all functions that are compiled into it, and of their constants."""
    reached: set[Callable[..., object]] = set()
    left, parts = [function], set[str]()
    while left:
        each = left.pop()
        if each in reached:
            continue
        reached.add(each)
        parts.add(_digest_of_file(inspect.getfile(each)))
        for name in _names(each.__code__):
            value = each.__globals__.get(name)
            if id(value) in _functions:
                left.append(_functions[id(value)])
            elif isinstance(value, int | float | str):
                parts.add(f"{each.__module__} {name} {value!r}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def _names(code: CodeType) -> set[str]:
    """All names that `code` looks up, those in its comprehensions included."""
    inside = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inside)


@functools.cache
def _digest_of_file(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
