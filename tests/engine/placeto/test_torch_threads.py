"""A block of torch's memory that is freed serves the next one of its size, without new pages of the system."""

import subprocess
import sys

import pytest

MEASURE = """
import resource
import torch
from engine.placeto.torch_threads import torch_threads

NUMBERS = 9 * 2**20  # 36 MiB: blocks above 32 MiB glibc by itself would map anew each time

def make_blocks():
    for _ in range(50):
        torch.ones(NUMBERS)

with torch_threads(1):
    make_blocks()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    make_blocks()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
MOST_FAULTS = 250
"""fifty new blocks would take 460,000 pages, or 900 huge ones"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
@pytest.mark.slow
def test_freed_blocks_are_taken_again() -> None:
    faults = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    assert int(faults.stdout) < MOST_FAULTS


def test_the_number_of_threads_is_restored() -> None:
    import torch

    from engine.placeto.torch_threads import torch_threads

    before = torch.get_num_threads()
    with torch_threads(3):
        assert torch.get_num_threads() == 3
    assert torch.get_num_threads() == before
