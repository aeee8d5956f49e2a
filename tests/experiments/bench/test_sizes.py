"""The memory of a process and its children."""

import os
import subprocess
import sys

import pytest

from experiments.bench.sizes import family, memory_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone names the children of a process")
@pytest.mark.slow
def test_children_count() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert set(family(os.getpid())) >= {os.getpid(), child.pid}
        child.communicate(b"\n")
    assert child.pid not in family(os.getpid())
    assert memory_bytes(os.getpid()) > 10**6
    assert memory_bytes(child.pid) == 0
