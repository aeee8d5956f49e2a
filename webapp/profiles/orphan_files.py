"""Files of measured times without a row."""

from pathlib import Path

from django.conf import settings

from webapp.graphs.orphan_files import remove_old
from webapp.profiles.models import Profile


def remove_orphan_files() -> int:
    """Remove old files of profiles without a row; returns how many."""
    known = {profile.times_path.name for profile in Profile.objects.only("id")}
    files = Path(settings.DATA_FOLDER).glob("profiles/*")
    return remove_old(path for path in files if path.name not in known)
