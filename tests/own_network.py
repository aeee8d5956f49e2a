"""Marks tests of children with a network namespace of their own, which some systems refuse."""

import subprocess
import sys

import pytest


def is_allowed() -> bool:
    """Whether this system lets a process of ours have a network namespace."""
    entering = "from engine.child import own_network; own_network.enter()"
    return subprocess.run([sys.executable, "-c", entering], capture_output=True, check=False).returncode == 0


NEEDS_OWN_NETWORK = pytest.mark.skipif(not is_allowed(), reason="this system allows no network namespace")
