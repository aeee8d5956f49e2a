"""What is asked of the kernel about processes."""

import os
import subprocess

from webapp.processes import descendants


def test_descendants_are_children_and_theirs_and_no_others() -> None:
    with subprocess.Popen(["sleep", "1000"]) as bystander:
        with subprocess.Popen(
            ["/bin/sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True
        ) as parent:
            assert parent.stdout is not None
            grandchild = int(parent.stdout.readline())
            assert descendants(parent.pid) == [grandchild]
            assert {parent.pid, grandchild, bystander.pid} <= set(descendants(os.getpid()))
            os.kill(grandchild, 9)
        assert descendants(parent.pid) == []
        bystander.kill()
