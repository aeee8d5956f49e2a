"""Files without a row, left behind by killed processes."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from django.conf import settings

from webapp.graphs.models import Graph

OLD_SECONDS = 3600.0
"""younger files may belong to an upload or a sample that is still being stored"""


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
    known = {path.name for graph in Graph.objects.only("id", "suffix") for path in graph.paths}
    yield from (path for path in folder.glob("graphs/*") if path.name not in known)
