"""What the processes of a training use of torch.distributed that its documents name nowhere."""

from datetime import timedelta
from pathlib import Path

import torch
from torch.distributed import HashStore, ProcessGroupGloo  # type: ignore[attr-defined]  # documented

LOOPBACK, LISTENS = "0100007F", "0A"
"""as /proc writes them"""


def test_a_group_of_gloo_listens_at_the_address_it_is_given_and_takes_its_time_limit() -> None:
    options = ProcessGroupGloo._Options()  # type: ignore[attr-defined]
    options._devices = [ProcessGroupGloo.create_device(hostname="127.0.0.1")]
    options._timeout = timedelta(seconds=5)
    before = listening()
    group = ProcessGroupGloo(HashStore(), 0, 1, options)
    group._set_default_timeout(timedelta(seconds=7))
    found = [torch.zeros(3)]
    work = group.allgather([found], [torch.ones(3)])  # type: ignore[attr-defined]
    work.wait()
    assert work.is_completed() and found[0].tolist() == [1, 1, 1]
    assert {address for address, _ in listening() - before} <= {LOOPBACK}


def listening() -> set[tuple[str, str]]:
    """Address and inode of each socket that this process listens with."""
    own = {str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listeners = [row for row in rows if row[3] == LISTENS and f"socket:[{row[9]}]" in own]
    return {(row[1].partition(":")[0], row[9]) for row in listeners}
