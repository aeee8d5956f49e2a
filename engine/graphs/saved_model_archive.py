"""The one file of a zipped SavedModel that says what its graphs are, read as a stream with caps. Runs in the child.

Nothing is ever unpacked onto the disk, and the archive's other files (variables, assets) are not read at all.
"""

import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from engine.errors import GraphError, LimitError, shortened
from engine.graphs.graphdef_messages import noun_of_first_bytes

SAVED_MODEL_FILE = "saved_model.pb"
ARCHIVE = "a zip archive of a SavedModel's folder"
MOST_ENTRIES = 10_000
MOST_DIRECTORY_BYTES = 8 * 1024**2
"""of the archive's own list of its entries, which is read whole"""
MOST_UNPACKED_BYTES = 16 * 1024**3
"""that all entries together may claim"""
MOST_RATIO = 200
"""of a file's size to its packed size; a graph of ordinary size packs to a twentieth"""
CHUNK_BYTES = 1024**2
ENCRYPTED = 0x1
_END = b"PK\x05\x06"
_END_BYTES, _LONGEST_COMMENT = 22, 65535
_DIRECTORY_SIZE_AT = 12
_DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, NotImplementedError, OSError)
"""what reading a damaged archive raises"""


def saved_model_bytes(path: Path, most_bytes: int) -> bytes:
    """The content of the archive's `saved_model.pb`, at most `most_bytes`. Raises GraphError, LimitError."""
    _require_directory(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _require_decent(entries)
            return _read(archive, _saved_model_entry(entries), most_bytes)
    except _DAMAGES as fault:
        why = "its entries are not where its list says" if isinstance(fault, OSError) else str(fault)
        what = f"the archive is damaged or cut short: {shortened(why or type(fault).__name__)}"
        raise GraphError(what, allowed=ARCHIVE, field="file") from None


def _require_directory(path: Path) -> None:
    """The file ends like a zip archive, and its list of entries is of decent size; nothing has been built yet."""
    with path.open("rb") as file:
        head = file.read(64)
        size = path.stat().st_size
        file.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT))
        tail = file.read()
    if not head:
        raise GraphError("the file is empty", allowed=ARCHIVE, field="file")
    if not head.startswith((b"PK\x03\x04", _END)):
        noun = noun_of_first_bytes(head, ".zip")
        what = f"this is {noun}" if noun else "this is no zip archive"
        raise GraphError(what, allowed=ARCHIVE, field="file")
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise GraphError("the archive is damaged or cut short: it has no end", allowed=ARCHIVE, field="file")
    (directory_bytes,) = struct.unpack_from("<L", tail, at + _DIRECTORY_SIZE_AT)
    if directory_bytes > MOST_DIRECTORY_BYTES:
        what = f"the archive's list of entries has {directory_bytes} bytes"
        raise LimitError(what, allowed=f"at most {MOST_DIRECTORY_BYTES} bytes", field="file")


def _require_decent(entries: Sequence[zipfile.ZipInfo]) -> None:
    """No entry would leave the archive's folder, is a link, is there twice or is encrypted; they are not too much."""
    if len(entries) > MOST_ENTRIES:
        raise LimitError(f"the archive has {len(entries)} entries", allowed=f"at most {MOST_ENTRIES}", field="file")
    seen: set[str] = set()
    for entry in entries:
        where = shortened(entry.filename)
        fault = _fault_of_entry(entry)
        if fault is None and entry.filename in seen:
            fault = "the archive has two entries of this name"
        if fault is not None:
            raise GraphError(fault, where=where, allowed="plain files and folders inside the archive", field="file")
        seen.add(entry.filename)
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MOST_UNPACKED_BYTES:
        what = f"the archive claims to hold {unpacked} bytes"
        raise LimitError(what, allowed=f"at most {MOST_UNPACKED_BYTES} bytes", field="file")


def _fault_of_entry(entry: zipfile.ZipInfo) -> str | None:
    """Why an archive with this entry is not read."""
    name = entry.filename
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if name.startswith(("/", "\\")) or (len(name) > 1 and name[1] == ":"):
        return "the entry has an absolute path"
    if ".." in parts:
        return "the entry climbs out of the archive's folder"
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "the entry is a link or no plain file"
    if entry.flag_bits & ENCRYPTED:
        return "the entry is encrypted"
    return None


def _saved_model_entry(entries: Sequence[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """The `saved_model.pb` at the top, or in the one folder there."""
    found = [entry for entry in entries if PurePosixPath(entry.filename).name == SAVED_MODEL_FILE]
    found = [entry for entry in found if len(PurePosixPath(entry.filename).parts) <= 2]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(shortened(entry.filename) for entry in found[:3])
        raise GraphError(f"the archive has several SavedModels: {names}", allowed="one", field="file")
    inner = next((entry for entry in entries if entry.filename.lower().endswith(".zip")), None)
    if inner is not None:
        what = "the archive has no saved_model.pb, but another archive in it"
        raise GraphError(what, where=shortened(inner.filename), allowed=ARCHIVE, field="file")
    what = "the archive has no saved_model.pb, neither at its top nor in the one folder there"
    raise GraphError(what, allowed=ARCHIVE, field="file")


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most_bytes: int) -> bytes:
    """The entry's content, which is no more than it claims."""
    where = shortened(entry.filename)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        what = f"the entry is packed by method {entry.compress_type}"
        raise GraphError(what, where=where, allowed="stored, or deflated", field="file")
    if entry.file_size > most_bytes:
        what = f"the entry has {entry.file_size} bytes"
        raise LimitError(what, where=where, allowed=f"at most {most_bytes} bytes", field="file")
    if entry.file_size > MOST_RATIO * max(entry.compress_size, CHUNK_BYTES // MOST_RATIO):
        what = f"the entry's {entry.file_size} bytes are packed into {entry.compress_size}"
        raise LimitError(what, where=where, allowed=f"at most {MOST_RATIO} times as many", field="file")
    pieces: list[bytes] = []
    with archive.open(entry) as stream:
        while piece := stream.read(CHUNK_BYTES):
            pieces.append(piece)
    content = b"".join(pieces)
    if len(content) != entry.file_size:
        raise zipfile.BadZipFile(f"{where} has {len(content)} bytes and claims {entry.file_size}")
    return content
