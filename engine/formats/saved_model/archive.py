"""Reads a zipped SavedModel as streams with size limits. Runs in the child.

Reading a graph uses `saved_model.pb` alone. The other files (variables, assets) are used when a placed SavedModel is
written: they are copied from archive to archive piece by piece. Nothing is unpacked onto the disk.
"""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from engine.child.parent import NO_ROOM
from engine.errors import GraphError, LimitError, shortened
from engine.graphs.tensorflow.graphdef_messages import noun_of_first_bytes
from engine.number_words import bytes_words

SAVED_MODEL_FILE = "saved_model.pb"
SAVED_MODEL_TEXT = "saved_model.pbtxt"
"""its text form; TensorFlow reads it where the binary one is missing"""
ONNX_SUFFIX = ".onnx"
VARIABLES_INDEX = "variables/variables.index"
"""the index of the other files of variables; TensorFlow reads none of them without it"""
ARCHIVE = "a zip archive of a SavedModel's folder"
MOST_ENTRIES = 10_000
MOST_DIRECTORY_BYTES = 8 * 1024**2
"""bytes of the archive's own list of its entries, which is read whole"""
MOST_UNPACKED_BYTES = 16 * 1024**3
"""bytes that all entries together may claim"""
MOST_RATIO = 200
"""ratio of a file's size to its packed size; an ordinary graph packs to a twentieth"""
CHUNK_BYTES = 1024**2
ENCRYPTED = 0x1
UNIX = 3
"""ZipInfo's number for an entry made on Unix"""
MOST_BYTES_OF_ZIP32 = 2**31
"""an entry of more bytes is written in the larger zip64 form"""
_END = b"PK\x05\x06"
_END_BYTES, _LONGEST_COMMENT = 22, 65535
_DIRECTORY_SIZE_AT = 12
_DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, NotImplementedError, OSError)
"""the errors raised by reading a damaged archive"""


class SavedModelArchive:
    """The files of a zipped SavedModel, which lie at the archive's top or in one folder."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        entries = archive.infolist()
        _require_decent(entries)
        self._archive = archive
        self._graphs = _saved_model_entry(entries)
        self.is_text = self._graphs.filename.endswith(SAVED_MODEL_TEXT)
        """whether it holds `saved_model.pbtxt` in place of `saved_model.pb`"""
        self.folder = self._graphs.filename.removesuffix(SAVED_MODEL_TEXT if self.is_text else SAVED_MODEL_FILE)
        """prefix of the names of the SavedModel's files: empty, or a folder and its slash"""
        files = [entry for entry in entries if entry.filename.startswith(self.folder) and not entry.is_dir()]
        self._entries = {entry.filename.removeprefix(self.folder): entry for entry in files}

    @property
    def names(self) -> list[str]:
        """The paths of the SavedModel's files in its folder, sorted."""
        return sorted(self._entries)

    def size(self, name: str) -> int:
        """The claimed unpacked size of the file in bytes."""
        return self._entries[name].file_size

    def saved_model_bytes(self, most_bytes: int) -> bytes:
        """The content of `saved_model.pb`, or of the text in its place. Raises GraphError, LimitError."""
        return b"".join(self._pieces(self._graphs, most_bytes))

    def read(self, name: str, most_bytes: int) -> bytes:
        """The content of a small file. Raises GraphError, LimitError."""
        return b"".join(self._pieces(self._entries[name], most_bytes))

    def read_through(self, name: str) -> None:
        """Read a file, piece by piece, and keep nothing. Raises GraphError, LimitError as `copy` does."""
        for _ in self._pieces(self._entries[name], MOST_UNPACKED_BYTES):
            pass

    def copy(self, name: str, target: zipfile.ZipFile) -> None:
        """Copy a file into another archive, piece by piece, packed if it was. Raises GraphError, LimitError."""
        source = self._entries[name]
        entry = new_entry(source.filename, source.compress_type)
        pieces = self._pieces(source, MOST_UNPACKED_BYTES)
        first = next(pieces, b"")  # an error of the entry is raised before the target has one
        entry.file_size = source.file_size
        with target.open(entry, "w", force_zip64=source.file_size > MOST_BYTES_OF_ZIP32) as sink:
            sink.write(first)
            for piece in pieces:
                sink.write(piece)

    def _pieces(self, entry: zipfile.ZipInfo, most_bytes: int) -> Iterator[bytes]:
        return _pieces(self._archive, entry, most_bytes)


@contextmanager
def opened_archive(path: Path) -> Iterator[SavedModelArchive]:
    """Open the SavedModel in `path` and check its entries. Raises GraphError, LimitError, also while it is used."""
    with _opened(path) as archive:
        yield SavedModelArchive(archive)


def onnx_model_in(path: Path, most_bytes: int) -> bytes | None:
    """The one ONNX model in an archive that holds no SavedModel; None where it holds no ONNX model.

    Other files in it, such as the model's weights, are not read. Raises GraphError, LimitError.
    """
    with _opened(path) as archive:
        entries = archive.infolist()
        _require_decent(entries)
        if _entries_named(entries, SAVED_MODEL_FILE) or _entries_named(entries, SAVED_MODEL_TEXT):
            return None
        found = [entry for entry in entries if entry.filename.lower().endswith(ONNX_SUFFIX) and not entry.is_dir()]
        if len(found) > 1:
            names = ", ".join(shortened(entry.filename) for entry in found[:3])
            raise GraphError(f"the archive has several ONNX models: {names}", allowed="one", field="file")
        return b"".join(_pieces(archive, found[0], most_bytes)) if found else None


def _pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most_bytes: int) -> Iterator[bytes]:
    """The entry's content, piece by piece. Raises an error if its size differs from the claimed one."""
    _require_claims(entry, most_bytes)
    size = 0
    with archive.open(entry) as stream:
        while piece := stream.read(CHUNK_BYTES):
            size += len(piece)
            yield piece
    if size != entry.file_size:
        where = shortened(entry.filename)
        raise zipfile.BadZipFile(f"{where} has {size} bytes and claims {entry.file_size}")


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open the archive in `path`. Raises GraphError, LimitError, also while it is used."""
    _require_directory(path)
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except _DAMAGES as fault:
        if isinstance(fault, OSError) and fault.errno in NO_ROOM:
            raise
        why = "its list gives wrong places of entries" if isinstance(fault, OSError) else str(fault)
        what = f"the archive is damaged or cut short: {shortened(why or type(fault).__name__)}"
        raise GraphError(what, allowed=ARCHIVE, field="file") from None


def new_entry(name: str, compress_type: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    """An entry for a new archive: its bytes do not depend on time or machine."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = compress_type
    entry.create_system = UNIX
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry


def _require_directory(path: Path) -> None:
    """Check the archive's end and the size of its list of entries before it is read. Raises GraphError, LimitError."""
    with path.open("rb") as file:
        head = file.read(64)
        size = path.stat().st_size
        file.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT))
        tail = file.read()
    if not head:
        raise GraphError("the file is empty", allowed=ARCHIVE, field="file")
    if not head.startswith((b"PK\x03\x04", _END)):
        noun = noun_of_first_bytes(head, ".zip")
        what = f"this is {noun}" if noun else "this is not a zip archive"
        raise GraphError(what, allowed=ARCHIVE, field="file")
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise GraphError("the archive is damaged or cut short: it has no end", allowed=ARCHIVE, field="file")
    (directory_bytes,) = struct.unpack_from("<L", tail, at + _DIRECTORY_SIZE_AT)
    if directory_bytes > MOST_DIRECTORY_BYTES:
        what = f"the archive's list of entries is too large: {bytes_words(directory_bytes)}"
        raise LimitError(what, allowed=f"at most {bytes_words(MOST_DIRECTORY_BYTES)}", field="file")


def _require_decent(entries: Sequence[zipfile.ZipInfo]) -> None:
    """Raise GraphError for a bad entry or two of one name, LimitError for too many entries or bytes."""
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
        what = f"the archive claims to hold {bytes_words(unpacked)}"
        raise LimitError(what, allowed=f"at most {bytes_words(MOST_UNPACKED_BYTES)}", field="file")


def _fault_of_entry(entry: zipfile.ZipInfo) -> str | None:
    """Why an archive with this entry is refused; None for a good entry."""
    name = entry.filename
    if not name:
        return "the entry has no name"
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
    """The entry of `saved_model.pb`, else of its text, at the top or in the one folder there. Raises GraphError."""
    found = _entries_named(entries, SAVED_MODEL_FILE) or _entries_named(entries, SAVED_MODEL_TEXT)
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


def _entries_named(entries: Sequence[zipfile.ZipInfo], name: str) -> list[zipfile.ZipInfo]:
    """The entries of this name at the top, or in a folder there."""
    paths = [(entry, PurePosixPath(entry.filename)) for entry in entries]
    return [entry for entry, path in paths if path.name == name and len(path.parts) <= 2]


def _require_claims(entry: zipfile.ZipInfo, most_bytes: int) -> None:
    """Raise GraphError for an unknown way of packing, LimitError for a claim of too many bytes."""
    where = shortened(entry.filename)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        what = f"the entry is packed by method {entry.compress_type}"
        raise GraphError(what, where=where, allowed="stored, or deflated", field="file")
    if entry.file_size > most_bytes:
        what = f"the entry is too large: {bytes_words(entry.file_size)}"
        raise LimitError(what, where=where, allowed=f"at most {bytes_words(most_bytes)}", field="file")
    if entry.file_size > MOST_RATIO * max(entry.compress_size, CHUNK_BYTES // MOST_RATIO):
        what = f"the entry packs {bytes_words(entry.file_size)} into {bytes_words(entry.compress_size)}"
        raise LimitError(what, where=where, allowed=f"at most {MOST_RATIO} times as many", field="file")
