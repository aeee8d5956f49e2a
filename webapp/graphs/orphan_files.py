"""Files without a row, left behind by killed processes."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from django.conf import settings

from webapp.graphs.models import Graph
from webapp.jobs.deletion import Deletable

SECONDS_BETWEEN_LOOKS = 3600.0
"""an upload or a sample is stored in less time"""


class OrphanFiles:
    """Removes files that have no row at two looks, an hour apart. The files' ages do not matter: clocks are set."""

    def __init__(self, unknown: Callable[[], Iterable[Path]], clock: Callable[[], float] = time.monotonic) -> None:
        """`unknown`: the files that have no row now."""
        self._unknown, self._clock = unknown, clock
        self._seen: frozenset[Path] = frozenset()
        self._looked_at = float("-inf")

    def __call__(self) -> bool:
        """Look if it is time; False: nothing is left to do after it."""
        if self._clock() - self._looked_at >= SECONDS_BETWEEN_LOOKS:
            unknown = frozenset(self._unknown())
            for path in unknown & self._seen:
                path.unlink(missing_ok=True)
            self._seen, self._looked_at = unknown, self._clock()
        return False


def unknown_files() -> Iterator[Path]:
    """The incoming files, and the files of graphs without a row."""
    yield from Path(settings.DATA_FOLDER).glob("incoming/*")
    yield from files_without_rows("graphs", Graph)


def files_without_rows(folder: str, model: type[Deletable]) -> Iterator[Path]:
    """The files in a folder of the data folder that are not named by the id of a row of `model`."""
    known = {str(key) for key in model.all_rows.order_by().values_list("pk", flat=True)}
    yield from (path for path in Path(settings.DATA_FOLDER).glob(f"{folder}/*") if path.stem not in known)


remove_orphan_files = OrphanFiles(unknown_files)
