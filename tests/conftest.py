"""What holds for all tests."""

from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run: a failure is then the change's, and can be repeated. No deadline: the first call of
# compiled code compiles it.
settings.register_profile("placeto", deadline=None, derandomize=True)
settings.load_profile("placeto")

TESTS = Path(__file__).parent
APPLICATION = "application"
"""the tests that share a database, a data folder or a browser: one after the other, however many run at a time"""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n 2 --dist loadgroup` each file of the engine's tests may run beside the others."""
    for item in items:
        folder, *_ = item.path.relative_to(TESTS).parts
        group = str(item.path.relative_to(TESTS)) if folder == "engine" else APPLICATION
        item.add_marker(pytest.mark.xdist_group(group))
