"""Receives uploaded files: written once, to the data folder, under names that no user chooses."""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler

if TYPE_CHECKING:
    BytesFile = UploadedFile[bytes]
else:
    BytesFile = UploadedFile  # generic for the type checker only


class IncomingFile(BytesFile):
    """A file that is deleted when the request ends, unless it has been moved to its place."""

    def __init__(self, name: str | None, content_type: str | None) -> None:
        folder = Path(settings.DATA_FOLDER) / "incoming"
        folder.mkdir(mode=0o700, exist_ok=True)
        self.path = folder / str(uuid.uuid4())
        descriptor = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        self._writer: IO[bytes] = os.fdopen(descriptor, "wb")
        super().__init__(self._writer, name, content_type)
        self._digest = hashlib.sha256()

    def append(self, chunk: bytes) -> None:
        """Write the next bytes."""
        self._digest.update(chunk)
        self._writer.write(chunk)

    def complete(self, size: int) -> None:
        """Flush the complete file to the disk, for other processes to read."""
        self._writer.close()
        self.size = size

    @property
    def content_hash(self) -> str:
        """SHA-256, as hexadecimal digits."""
        return self._digest.hexdigest()

    def move_to(self, path: Path) -> None:
        """Move it to `path`, so that it outlives the request."""
        path.parent.mkdir(mode=0o700, exist_ok=True)
        self.path.replace(path)

    def close(self) -> None:
        """Delete it unless it has been moved."""
        with suppress(OSError):  # on a full disk, of the last bytes
            self._writer.close()
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is on the disk already, and may become a graph's."""

    name: str
    path: Path
    size: int
    content_hash: str
    """SHA-256, as hexadecimal digits"""

    def move_to(self, path: Path) -> None:
        """Put it at `path` as well: it stays where it is until whoever has stored it deletes it."""
        path.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            path.hardlink_to(self.path)
        except FileNotFoundError:
            raise
        except OSError:  # a disk without hard links
            shutil.copyfile(self.path, path)


class IncomingFileHandler(FileUploadHandler):
    """Makes an `IncomingFile` of each uploaded file."""

    file: IncomingFile

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Begin a file."""
        super().new_file(*args, **kwargs)
        self.file = IncomingFile(self.file_name, self.content_type)

    def receive_data_chunk(self, raw_data: bytes, _start: int) -> None:
        """Write its next bytes."""
        with self._deleted_after_an_error():
            self.file.append(raw_data)

    def file_complete(self, file_size: int) -> IncomingFile:
        """Return the complete file."""
        with self._deleted_after_an_error():
            self.file.complete(file_size)
        return self.file

    @contextmanager
    def _deleted_after_an_error(self) -> Iterator[None]:
        """Django closes complete files after an error, but not the one that is being written."""
        try:
            yield
        except OSError:
            self.file.close()
            raise

    def upload_interrupted(self) -> None:
        """Delete an interrupted file."""
        if hasattr(self, "file"):
            self.file.close()
