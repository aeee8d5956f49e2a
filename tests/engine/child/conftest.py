"""A server that children are forked from, with nothing loaded but what the tests run in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.child import warm
from engine.child.parent import environment_of_children
from engine.child.warm import WarmServer

LOADED = ("tests.engine.child.child_functions",)


@pytest.fixture
def warm_server() -> Iterator[WarmServer]:
    """One of its own for each test: some of them end it."""
    warm.keep_warm(LOADED, environment_of_children(Path("/")))
    server = warm.warm_server()
    assert server is not None
    try:
        yield server
    finally:
        warm.end_warm()
