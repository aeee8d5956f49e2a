"""Files of measured times without a row."""

from functools import partial

from webapp.graphs.orphan_files import OrphanFiles, files_without_rows
from webapp.profiles.models import Profile

unknown_files = partial(files_without_rows, "profiles", Profile)
"""the files of profiles without a row"""
remove_orphan_files = OrphanFiles(unknown_files)
