"""Files without a row, left behind by killed processes."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath

from django.conf import settings

from webapp.graphs.models import Graph

OLD_SECONDS = 3600.0
"""younger files may belong to an upload or a sample that is still being stored"""


class Hourly:
    """A chore that looks for something to do once an hour: a step is a whole look."""

    def __init__(self, look: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._look, self._clock = look, clock
        self._looked_at = float("-inf")

    def __call__(self) -> bool:
        """Look if it is time; nothing is left after it."""
        if self._clock() - self._looked_at >= OLD_SECONDS:
            self._look()
            self._looked_at = self._clock()
        return False


def remove_orphan_files() -> int:
    """Remove old incoming files, and old files of graphs without a row; returns how many."""
    return remove_old(_unknown_files())


def remove_old(unknown: Iterable[Path]) -> int:
    """Remove the old ones among files without a row; returns how many."""
    removed = 0
    for path in unknown:
        if time.time() - path.stat().st_mtime > OLD_SECONDS:
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _unknown_files() -> Iterator[Path]:
    folder = Path(settings.DATA_FOLDER)
    yield from folder.glob("incoming/*")
    known = {str(key) for key in Graph.all_rows.order_by().values_list("id", flat=True)}
    yield from (path for path in folder.glob("graphs/*") if PurePath(path).stem not in known)


remove_orphan_files_hourly = Hourly(remove_orphan_files)
