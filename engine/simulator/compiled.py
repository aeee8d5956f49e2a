"""The one way in which the engine's numeric loops are compiled: `@compiled`."""

import hashlib
import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numba
from numba.core.caching import FunctionCache

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

_digests: dict[int, str] = {}
"""id of a compiled function → digest of all the code that is compiled into it"""


class _DigestCache(FunctionCache):
    """Numba's cache on disk, but a change in a called function of another file counts as a change.

    Numba itself looks at the caller's file only and would run old machine code after an upgrade.
    """

    def _index_key(self, signature: object, codegen: object) -> tuple[object, ...]:
        key: tuple[object, ...] = super()._index_key(signature, codegen)  # type: ignore[no-untyped-call]  # numba's own
        return (*key, _digest_of(self._py_func))


def compiled(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Compile `function` on its first call: without the GIL, arithmetic as written, kept on disk between processes.

    The compiled code is kept beside the source or, where that cannot be written, in the user's cache folder; where
    neither can be, a warning says that every process compiles anew.
    """
    dispatcher = numba.njit(nogil=True, fastmath=False, error_model="numpy")(function)
    try:
        cache = _DigestCache(function)  # type: ignore[no-untyped-call]  # numba's own
        dispatcher._cache = cache  # type: ignore[attr-defined]  # what cache=True sets
    except RuntimeError as error:
        warnings.warn(f"compiled code is not kept: {error}", stacklevel=2)
    _digests[id(dispatcher)] = _digest_of(function)
    return dispatcher


def _digest_of(function: Callable[..., object]) -> str:
    """A digest of the file of `function`, of the compiled functions and the numbers that it names."""
    digest = hashlib.sha256(Path(inspect.getfile(function)).read_bytes())
    for name in sorted(function.__code__.co_names):
        value = function.__globals__.get(name)
        if id(value) in _digests:
            digest.update(f"{name} {_digests[id(value)]}".encode())
        elif isinstance(value, int | float | str):
            digest.update(f"{name} {value!r}".encode())
    return digest.hexdigest()
