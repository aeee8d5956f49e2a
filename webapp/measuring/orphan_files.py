"""Files of measured times, and of finished rounds, without a row."""

from functools import partial

from webapp.graphs.orphan_files import OrphanFiles, files_without_rows
from webapp.measuring.models import Profile, StepMeasurement

unknown_profiles = partial(files_without_rows, "profiles", Profile)
"""the files of profiles without a row"""
unknown_rounds = partial(files_without_rows, "measurements", StepMeasurement)
"""the files of measurements without a row"""
remove_orphan_profiles = OrphanFiles(unknown_profiles)
remove_orphan_rounds = OrphanFiles(unknown_rounds)
