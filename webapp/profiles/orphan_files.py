"""Files of measured times without a row."""

from pathlib import Path

from django.conf import settings

from webapp.graphs.orphan_files import Hourly, remove_old
from webapp.profiles.models import Profile


def remove_orphan_files() -> int:
    """Remove old files of profiles without a row; returns how many."""
    known = {str(key) for key in Profile.all_rows.order_by().values_list("id", flat=True)}
    files = Path(settings.DATA_FOLDER).glob("profiles/*")
    return remove_old(path for path in files if path.stem not in known)


remove_orphan_files_hourly = Hourly(remove_orphan_files)
