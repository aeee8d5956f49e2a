"""Tests that share what only one of them may have at a time run one after the other."""

import pytest


def test_the_tests_of_a_group_run_on_one_worker(request: pytest.FixtureRequest) -> None:
    """pytest-xdist reads a test's group from the end of its name; with some versions of pytest it writes none."""
    if request.config.getoption("loadgroup", False):
        assert request.node.nodeid.endswith("@application")
    else:
        assert request.node.get_closest_marker("xdist_group").args == ("application",)
