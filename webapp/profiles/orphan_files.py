"""Files of measured times without a row."""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from webapp.graphs.orphan_files import OrphanFiles
from webapp.profiles.models import Profile


def unknown_files() -> Iterator[Path]:
    """The files of profiles without a row."""
    known = {str(key) for key in Profile.all_rows.order_by().values_list("id", flat=True)}
    yield from (path for path in Path(settings.DATA_FOLDER).glob("profiles/*") if path.stem not in known)


remove_orphan_files = OrphanFiles(unknown_files)
