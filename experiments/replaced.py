"""Another function in the place of one of ours, for as long as a measurement lasts."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def replaced(owner: object, name: str, value: object) -> Iterator[None]:
    """Until the context ends, the own attribute `name` of a class or module is `value`. Raises KeyError without one."""
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
