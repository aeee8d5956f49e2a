"""Small networks are slower on two threads of torch than on one, and much slower where the machine has other work."""

from collections.abc import Iterator

import pytest

from engine.placeto.torch_threads import torch_threads


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    with torch_threads(1):
        yield
