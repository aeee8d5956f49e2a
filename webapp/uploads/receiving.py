"""Receives uploads in parts.

    made ──▶ receiving ──▶ complete ──▶ a graph
      └─────────┴─────────────┴───────▶ deleted: asked for, or a day after the last part

A part is stored at the offset that its sender names, if that is how far the file has arrived. The number in the row
grows after the bytes are on the disk, so that a part whose answer was lost, or that a killed process had half written,
is sent again over the same bytes.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO

from django.db import transaction
from django.db.models.functions import Now
from django.http import Http404

from engine import api
from webapp.accounts import quotas
from webapp.graphs.graph_options import GraphOptions
from webapp.graphs.incoming import IncomingFile, StoredFile
from webapp.graphs.models import Graph
from webapp.graphs.uploads import accept_upload
from webapp.jobs import deletion
from webapp.projects.models import Project
from webapp.uploads.models import PartialUpload

PART_BYTES = 8 * 1024**2
"""the largest part"""
PIECE_BYTES = 1024**2
KEPT_FOR = timedelta(days=1)
"""after the last part"""
MOST_AT_ONCE = 20
"""unfinished uploads of a project"""
DELETED = "This upload does not exist: it has expired, been deleted, or become a graph."


class WrongOffsetError(Exception):
    """A part begins elsewhere than where the file ends."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset
        """where the next part begins"""


class PartUnderWayError(Exception):
    """Another part of the file is being stored."""


def begin(project: Project, name: str, total_bytes: int, sha256: str) -> PartialUpload:
    """Store a new upload, of which nothing has arrived. Raises LimitError, QuotaError, Http404."""
    upload = PartialUpload(project=project, name=name, total_bytes=total_bytes, sha256=sha256.lower())
    with transaction.atomic():
        if not Project.objects.select_for_update().filter(id=project.id).exists():
            raise Http404("This project has been deleted meanwhile.")
        if PartialUpload.objects.filter(project=project).count() >= MOST_AT_ONCE:
            what = f"{MOST_AT_ONCE} uploads of this project have not become graphs yet"
            raise api.LimitError(what, allowed="fewer: finish or delete one")
        quotas.require_upload(upload.total_bytes, Graph.objects.all(), Graph.all_rows.all())
        upload.save(force_insert=True)
    return upload


def receive(upload: PartialUpload, offset: int, read: Callable[[int], bytes]) -> int:
    """Store the bytes that `read` gives at `offset`; returns where the next part begins.

    Raises WrongOffsetError, PartUnderWayError, LimitError for more bytes than the file has, OSError.
    """
    with _alone(upload) as file:
        _require_at(upload, offset)
        file.seek(offset)
        while piece := read(PIECE_BYTES):
            offset += len(piece)
            if offset > upload.total_bytes:
                what, allowed = "more bytes than the file has", f"{upload.total_bytes:,} in all"
                raise api.LimitError(what, where=upload.name, allowed=allowed)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        PartialUpload.objects.filter(id=upload.id).update(received_bytes=offset, touched_at=Now())
    return offset


def make_graph(upload: PartialUpload, options: GraphOptions, times: IncomingFile | None) -> Graph:
    """Make a graph of the complete file, as of one that arrived at once.

    Raises a PlacetoError, WrongOffsetError for an incomplete file, PartUnderWayError; then it stays.
    """
    with _alone(upload):
        _require_at(upload, upload.total_bytes)
        digest = _sha256(upload.path)
        if upload.sha256 and digest != upload.sha256:
            what = "the file that arrived has another SHA-256 than its sender said"
            raise api.GraphError(what, where=upload.name, allowed="a file sent anew", field="sha256")
        file = StoredFile(upload.name, upload.path, upload.total_bytes, digest)
        graph = accept_upload(upload.project, file, options, times)
        deletion.delete(upload)
    return graph


def remove_expired_uploads() -> bool:
    """The chore that deletes the uploads of which no part has come for a day; nothing is left after it."""
    expired = PartialUpload.objects.filter(touched_at__lt=Now() - KEPT_FOR)
    if expired.exists():
        deletion.delete_all(expired)
    return False


def _require_at(upload: PartialUpload, offset: int) -> None:
    """Raise WrongOffsetError unless so many bytes have arrived, Http404 if the upload is gone."""
    received = PartialUpload.objects.filter(id=upload.id).values_list("received_bytes", flat=True).first()
    if received is None:
        raise Http404(DELETED)
    if offset != received:
        raise WrongOffsetError(received)


@contextmanager
def _alone(upload: PartialUpload) -> Iterator[IO[bytes]]:
    """The open file, which no other request writes meanwhile. Raises PartUnderWayError."""
    path = upload.path
    path.parent.mkdir(mode=0o700, exist_ok=True)
    begins = 0 if upload.received_bytes else os.O_CREAT
    try:
        descriptor = os.open(path, os.O_RDWR | begins, 0o600)
    except FileNotFoundError:
        raise Http404(DELETED) from None
    with os.fdopen(descriptor, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PartUnderWayError from None
        yield file


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
