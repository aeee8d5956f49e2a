"""The archive of a backup: a zip with a manifest, the rows of each table and the files.

manifest.json             format, version, migrations, rows of each table, bytes and SHA-256 of each entry
rows/APP.TABLE.jsonl      one table (`rows`)
files/graphs/NAME         one file of the data folder, and files/profiles/NAME
"""

import fcntl
import hashlib
import json
import os
import re
import secrets
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from webapp.backups.failure import BackupError

FORMAT = "placeto-backup"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
MOST_MANIFEST_BYTES = 256 * 1024**2
PIECE_BYTES = 1024**2
COMPRESSION_LEVEL = 1
"""text of events becomes a sixth with it; level 6 takes three times as long for a seventh"""
FILE_FOLDERS = ("graphs", "profiles")
_DRAFT = re.compile(r"\..+\.[0-9a-f]{16}\.part")
_NAME = re.compile(r"rows/[a-z_]+\.[a-z_]+\.jsonl|files/(?:graphs|profiles)/[0-9a-f-]{36}(?:\.[A-Za-z0-9_]+)+")


@dataclass(slots=True)
class Manifest:
    """What the archive holds."""

    version: str
    """of the code that made it"""
    migrations: list[tuple[str, str]]
    """(app, name): the schema of the rows"""
    created_at: str
    rows: dict[str, int] = field(default_factory=dict)
    """app.table → number of rows"""
    entries: dict[str, tuple[int, str]] = field(default_factory=dict)
    """name → (bytes, SHA-256)"""
    missing: list[str] | None = None
    """names of the files that rows refer to and that the machine did not have; None in backups of before 0.3.0"""

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "version": self.version,
            "created_at": self.created_at,
            "migrations": [list(node) for node in self.migrations],
            "rows": self.rows,
            "entries": {name: list(entry) for name, entry in self.entries.items()},
            "missing": self.missing,
        }

    @staticmethod
    def from_json(value: Any) -> "Manifest":
        """From JSON. Raises KeyError, TypeError, ValueError for anything else."""
        return Manifest(
            str(value["version"]),
            [(str(app), str(name)) for app, name in value["migrations"]],
            str(value["created_at"]),
            {str(table): int(count) for table, count in value["rows"].items()},
            {str(name): (int(size), str(digest)) for name, (size, digest) in value["entries"].items()},
            None if value.get("missing") is None else [str(name) for name in value["missing"]],
        )


class ArchiveWriter:
    """Writes an archive under a temporary name beside its own, which it gets at the end and only if all went well."""

    def __init__(self, path: Path) -> None:
        """`path` must not exist, its folder must. Raises BackupError."""
        if not path.parent.is_dir():
            raise BackupError(f"there is no folder {path.parent}")
        if path.exists():
            raise BackupError(f"{path} exists: name another file")
        self._path = path
        self._draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")

    def __enter__(self) -> "ArchiveWriter":
        """Begin, and remove the drafts of killed backups in the same folder: a draft is locked while it is written."""
        for left in self._path.parent.iterdir():
            if _DRAFT.fullmatch(left.name):
                _remove_unless_held(left)
        self._file = self._draft.open("xb")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._zip = zipfile.ZipFile(
            self._file, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=COMPRESSION_LEVEL
        )
        self._entries: dict[str, tuple[int, str]] = {}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._zip.close()
        finally:
            self._draft.unlink(missing_ok=True)
            self._file.close()

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Add an entry."""
        digest, size = hashlib.sha256(), 0
        with self._zip.open(name, "w", force_zip64=True) as entry:
            for piece in pieces:
                entry.write(piece)
                digest.update(piece)
                size += len(piece)
        self._entries[name] = (size, digest.hexdigest())

    def finish(self, manifest: Manifest) -> int:
        """Add the manifest and give the archive its name; returns its bytes. Raises BackupError."""
        manifest.entries = self._entries
        self._zip.writestr(MANIFEST, json.dumps(manifest.to_json()))
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        if self._path.exists():
            raise BackupError(f"{self._path} exists: name another file")
        self._draft.rename(self._path)
        return self._path.stat().st_size


def _remove_unless_held(draft: Path) -> None:
    with suppress(OSError), draft.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.unlink()


class ArchiveReader:
    """Reads an archive, of which nothing is trusted but what `verify` has seen."""

    def __init__(self, path: Path) -> None:
        """Open it and read the manifest. Raises BackupError."""
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise BackupError(f"cannot read {path} ({error.strerror})") from None
        except zipfile.BadZipFile:
            raise BackupError(f"{path} is not a backup, or its end is missing") from None
        try:
            self.manifest = self._read_manifest()
            self._require_listed_entries()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def files(self) -> list[str]:
        """The names of the entries with files."""
        return [name for name in self.manifest.entries if name.startswith("files/")]

    @property
    def files_bytes(self) -> int:
        """What the files take when they are written."""
        return sum(self.manifest.entries[name][0] for name in self.files())

    def verify(self) -> None:
        """Read every entry to its end and compare bytes and digests. Raises BackupError."""
        for name, (size, digest) in self.manifest.entries.items():
            found, read = hashlib.sha256(), 0
            for piece in self.pieces(name):
                found.update(piece)
                read += len(piece)
            if (read, found.hexdigest()) != (size, digest):
                raise self._damaged(name)

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of an entry, never more than the manifest says. Raises BackupError."""
        left = self.manifest.entries[name][0]
        with self._reading(name), self._zip.open(name) as entry:
            while piece := entry.read(PIECE_BYTES):
                left -= len(piece)
                if left < 0:
                    raise self._damaged(name)
                yield piece

    def lines(self, name: str, most_bytes: int) -> Iterator[bytes]:
        """The lines of an entry, none longer than `most_bytes`. Raises BackupError."""
        with self._reading(name), self._zip.open(name) as entry:
            while line := entry.readline(most_bytes + 1):
                if len(line) > most_bytes:
                    raise BackupError(f"{self._path} has a row in {name} that is too long; allowed: {most_bytes} bytes")
                yield line

    def _read_manifest(self) -> Manifest:
        try:
            info = self._zip.getinfo(MANIFEST)
        except KeyError:
            raise BackupError(f"{self._path} is not a backup: it has no {MANIFEST}") from None
        if info.file_size > MOST_MANIFEST_BYTES:
            raise self._damaged(MANIFEST)
        with self._reading(MANIFEST), self._zip.open(MANIFEST) as entry:
            text = entry.read(MOST_MANIFEST_BYTES)
        try:
            value = json.loads(text)
            if value["format"] != FORMAT:
                raise BackupError(f"{self._path} is not a backup: its format is {str(value['format'])[:40]!r}")
            if value["format_version"] != FORMAT_VERSION:
                raise BackupError(
                    f"{self._path} is of format version {str(value['format_version'])[:40]!r}; "
                    f"this version reads {FORMAT_VERSION}"
                )
            return Manifest.from_json(value)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise self._damaged(MANIFEST) from None

    def _require_listed_entries(self) -> None:
        """Each entry once, each listed, each with a name that leads nowhere else."""
        names = [info.filename for info in self._zip.infolist()]
        odd = [name for name in self.manifest.entries if _NAME.fullmatch(name) is None]
        if odd:
            raise BackupError(f"{self._path} has an entry that no backup has: {odd[0][:80]!r}")
        if sorted(names) != sorted([MANIFEST, *self.manifest.entries]):
            raise BackupError(f"{self._path} is damaged: its entries are not those of its manifest")

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            raise self._damaged(name) from None

    def _damaged(self, name: str) -> BackupError:
        return BackupError(f"{self._path} is damaged at {name}: use another backup")
