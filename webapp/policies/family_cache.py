"""Removes cached graphs of families that no training has read for a long time, such as those of an older engine."""

import time
from pathlib import Path

from django.conf import settings

SECONDS_BETWEEN_LOOKS = 3600.0
DAY_SECONDS = 86400.0


class UnusedFamilyFiles:
    """The chore: a look an hour. A training that reads a file renews its time (`engine.zoo.families.cache`)."""

    def __init__(self) -> None:
        self._looked_at = float("-inf")

    def __call__(self) -> bool:
        """Look if it is time; False: nothing is left to do after it."""
        if settings.FAMILIES_DAYS and time.monotonic() - self._looked_at >= SECONDS_BETWEEN_LOOKS:
            oldest = time.time() - settings.FAMILIES_DAYS * DAY_SECONDS
            for path in Path(settings.FAMILIES_FOLDER).rglob("*.prepared"):
                if path.stat().st_mtime < oldest:
                    path.unlink(missing_ok=True)
            self._looked_at = time.monotonic()
        return False


remove_unused_family_files = UnusedFamilyFiles()
