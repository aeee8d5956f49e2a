"""Recognises that the kernel has killed a job's process because memory ran out, so that it is not tried again.

While a process of this machine works on a job, a file in the data folder holds how many processes the kernel had killed
for memory when it began. A process that is killed leaves its file: if the number has grown, the next attempt ends here.
"""

import uuid
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from engine import api

FOLDER = "memory"
"""in the data folder"""


def note_attempt(job_id: uuid.UUID) -> None:
    """Note that this process begins. Raises LimitError if the attempt before was killed for memory."""
    path, kills = _path(job_id), api.kills_for_memory()
    before = _noted(path)
    if kills is None:
        return
    if before is not None and kills > before:
        path.unlink(missing_ok=True)
        raise api.LimitError(
            "the system ended it because the machine's memory ran out",
            allowed="a smaller graph or fewer groups, another method, or a machine with more memory",
        )
    with suppress(OSError):  # on a full disk the job goes on: it only is not recognised if it is killed
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(str(kills), encoding="ascii")


def forget_attempt(job_id: uuid.UUID) -> None:
    """Note that it has ended by itself."""
    with suppress(OSError):
        _path(job_id).unlink(missing_ok=True)


def _path(job_id: uuid.UUID) -> Path:
    return Path(settings.DATA_FOLDER) / FOLDER / f"{job_id}.attempt"


def _noted(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
