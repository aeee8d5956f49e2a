"""The files of uploads in parts without a row."""

from functools import partial

from webapp.graphs.orphan_files import OrphanFiles, files_without_rows
from webapp.uploads.models import FOLDER, PartialUpload

unknown_uploads = partial(files_without_rows, FOLDER, PartialUpload)
"""the files that belong to no upload"""
remove_orphan_uploads = OrphanFiles(unknown_uploads)
