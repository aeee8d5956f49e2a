"""Files of finished rounds without a row."""

from functools import partial

from webapp.graphs.orphan_files import OrphanFiles, files_without_rows
from webapp.measurements.models import StepMeasurement

unknown_files = partial(files_without_rows, "measurements", StepMeasurement)
"""the files of measurements without a row"""
remove_orphan_files = OrphanFiles(unknown_files)
